# Frames: requests from descriptor 3, events to 4, and the output buffer. Opened again by name: R has no
# other way to a descriptor. As a FIFO the requests come as they are; a file would wait for a full buffer.
requests <- fifo("/proc/self/fd/3", "rb", blocking = TRUE)
events <- file("/proc/self/fd/4", "wb", raw = TRUE)
output <- rawConnection(raw(0), "wb")

# The next request as list(name, argument, content), or NULL at the end.
next_request <- function() {
	header <- raw(0)
	while (length(byte <- readBin(requests, "raw", 1L)) && byte != 0x0a && length(header) < 200L)
		header <- c(header, byte)
	words <- strsplit(rawToChar(header), " ", fixed = TRUE)[[1]]
	if (length(words) != 3L)
		return(NULL)
	size <- as.numeric(words[3])
	content <- raw(0)
	while (length(content) < size) {
		piece <- readBin(requests, "raw", size - length(content))
		if (!length(piece))
			return(NULL)
		content <- c(content, piece)
	}
	text <- rawToChar(content[content != 0])
	Encoding(text) <- "UTF-8"
	list(name = words[1], argument = words[2], content = text)
}

# Text as the bytes of valid UTF-8.
as_bytes <- function(text) {
	text <- enc2utf8(paste(text, collapse = "\n"))
	if (!validUTF8(text))
		text <- iconv(text, "UTF-8", "UTF-8", sub = "?")
	charToRaw(text)
}

frame <- function(name, argument = "-", content = raw(0))
	c(charToRaw(sprintf("%s %s %.0f\n", name, argument, length(content))), content)

send <- function(...) {
	writeBin(c(...), events)
	flush(events)
}

# What was printed since the last time becomes an event.
flush_output <- function() {
	bytes <- rawConnectionValue(output)
	if (length(bytes)) {
		seek(output, 0L, rw = "write")
		truncate(output)
		send(frame("stdout", "-", as_bytes(rawToChar(bytes))))
	}
}

send_stderr <- function(text) {
	flush_output()
	if (nzchar(text))
		send(frame("stderr", "-", as_bytes(text)))
}

# parts: a list of texts, named by type.
send_result <- function(kind, parts) {
	flush_output()
	bytes <- mapply(function(type, text) frame("part", type, as_bytes(text)), names(parts), parts, SIMPLIFY = FALSE)
	send(frame("result", kind), unlist(bytes, use.names = FALSE), frame("close"))
}

send_error <- function(name, value, traceback = "") {
	flush_output()
	send(frame("error"), frame("part", "name", as_bytes(name)), frame("part", "value", as_bytes(value)),
	     frame("part", "traceback", as_bytes(traceback)), frame("close"))
}
