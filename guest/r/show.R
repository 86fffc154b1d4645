# Values and plots as results.

ROWS_MAX <- 60L
COLUMNS_MAX <- 30L
PLOT_INCHES <- 7
PLOT_DPI <- 120

# As R prints it at top level; methods that the code has defined are found from the global environment.
print_value <- function(value) {
	show <- if (isS4(value)) quote(methods::show(value)) else quote(base::print(value))
	invisible(eval(show, list2env(list(value = value), parent = globalenv())))
}

printed <- function(value) {
	lines <- utils::capture.output(print_value(value))
	paste(lines, collapse = "\n")
}

escape_html <- function(text) {
	text <- gsub("&", "&amp;", text, fixed = TRUE)
	gsub(">", "&gt;", gsub("<", "&lt;", text, fixed = TRUE), fixed = TRUE)
}

# A table, of its first rows and columns.
as_html <- function(table) {
	table <- as.data.frame(table)
	left_out <- nrow(table) > ROWS_MAX || ncol(table) > COLUMNS_MAX
	size <- sprintf("%d rows, %d columns", nrow(table), ncol(table))
	table <- table[seq_len(min(nrow(table), ROWS_MAX)), seq_len(min(ncol(table), COLUMNS_MAX)), drop = FALSE]
	cells <- lapply(table, function(column) escape_html(format(column)))
	row <- function(tag, values) paste0("<", tag, ">", values, "</", tag, ">", collapse = "")
	head <- row("th", c("", escape_html(names(table))))
	body <- vapply(seq_len(nrow(table)), function(i)
		paste0("<tr><th>", escape_html(rownames(table)[i]), "</th>", row("td", vapply(cells, `[`, "", i)), "</tr>\n"), "")
	paste0("<table>\n<thead><tr>", head, "</tr></thead>\n<tbody>\n", paste(body, collapse = ""), "</tbody>\n</table>",
	       if (left_out) paste0("\n<p>", size, "</p>"))
}

# Values that only draw, or print nothing, have no result.
send_value <- function(value) {
	text <- printed(value)
	if (!nzchar(text))
		return(invisible())
	parts <- list("text/plain" = text)
	if (is.data.frame(value) || (is.matrix(value) && is.atomic(value)))
		parts[["text/html"]] <- tryCatch(as_html(value), error = function(e) NULL)
	send_result("main", parts)
}

# ---- plots ----

plots <- new.env()

# The default device. A page is one file.
open_plots <- function(...) {
	if (is.null(plots$folder))
		plots$folder <- tempfile("plots")
	dir.create(plots$folder, showWarnings = FALSE)
	type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
	grDevices::png(file.path(plots$folder, "%06d.png"), PLOT_INCHES, PLOT_INCHES, "in", res = PLOT_DPI, type = type)
	plots$device <- grDevices::dev.cur()
}

# Closes the device, whose pages become results.
send_plots <- function() {
	if (!is.null(plots$device) && plots$device %in% grDevices::dev.list())
		grDevices::dev.off(plots$device)
	plots$device <- NULL
	if (is.null(plots$folder))
		return(invisible())
	for (path in sort(list.files(plots$folder, full.names = TRUE))) {
		send_result("display", list("image/png" = as_base64(readBin(path, "raw", file.size(path)))))
		unlink(path)
	}
}

ALPHABET <- charToRaw("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

as_base64 <- function(bytes) {
	missing <- (3L - length(bytes) %% 3L) %% 3L
	b <- matrix(as.integer(c(bytes, raw(missing))), 3L)
	sextets <- rbind(b[1, ] %/% 4L, b[1, ] %% 4L * 16L + b[2, ] %/% 16L, b[2, ] %% 16L * 4L + b[3, ] %/% 64L, b[3, ] %% 64L)
	text <- ALPHABET[sextets + 1L]
	text[seq_len(missing) + length(text) - missing] <- charToRaw("=")
	rawToChar(text)
}
