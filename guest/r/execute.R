# Requests, and one execution.

state <- new.env() # id while executing; count; status of quit()
state$count <- 0L
state$status <- 0
once <- list() # variables of `with`: what they were before

start <- function() {
	options(device = open_plots, pager = page, menu.graphics = FALSE, keep.source = TRUE, warn = 0)
	attach_masks()
	reg.finalizer(state, on_exit, onexit = TRUE)
	send(frame("ready"))
}

# Help and the like.
page <- function(files, header, title, delete.file) {
	for (path in files)
		base::cat(gsub("_\b", "", readLines(path)), sep = "\n")
	if (delete.file)
		unlink(files)
}

set_variable <- function(key, value)
	if (nzchar(key))
		do.call(Sys.setenv, stats::setNames(list(value), key))

set_once <- function(key, value) {
	if (!key %in% names(once))
		once[key] <<- list(Sys.getenv(key, NA, names = FALSE))
	set_variable(key, value)
}

restore <- function() {
	for (key in names(once))
		if (is.na(once[[key]])) Sys.unsetenv(key) else set_variable(key, once[[key]])
	once <<- list()
}

loop <- function() {
	while (!is.null(request <- next_request())) {
		key <- sub("=.*", "", request$content)
		value <- substring(request$content, nchar(key) + 2L)
		switch(request$name,
		       env = set_variable(key, value),
		       with = set_once(key, value),
		       execute = execute(request$argument, request$content))
	}
}

finish <- function() {
	flush_output()
	send_plots()
	restore()
	send(frame("done", state$id))
	state$id <- NULL
}

execute <- function(id, code) {
	# An interrupt that came too late for the last execution.
	tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(e) NULL)
	state$count <- state$count + 1L
	state$id <- id
	state$failed <- FALSE # the error was sent where it was signalled, with its calls; there may be no room for that
	send(frame("count", state$count))
	if (sink.number() == 0L)
		sink(output)
	tryCatch(allowInterrupts(run(code)),
	         interrupt = function(e) send_error("KeyboardInterrupt", "The execution was interrupted."),
	         error = function(e) if (!state$failed) send_error("Error", conditionMessage(e), paste0("Error: ", conditionMessage(e))))
	finish()
}

# All expressions. The value of the last is the result, those before are printed.
run <- function(code) {
	expressions <- tryCatch(parse(text = code, keep.source = TRUE, encoding = "UTF-8"), error = parse_error)
	for (i in seq_along(expressions)) {
		shown <- evaluate(expressions[i])
		if (shown$visible)
			with_handlers(if (i == length(expressions)) send_value(shown$value) else print_value(shown$value))
		flush_output()
	}
}

parse_error <- function(e) {
	send_error("ParseError", sub("^<text>:", "", conditionMessage(e)), paste0("Error: ", conditionMessage(e)))
	state$failed <- TRUE
	stop(e)
}

with_handlers <- function(expression) {
	depth <- sys.nframe()
	withCallingHandlers(expression, error = function(e) on_error(e, depth), warning = on_warning, message = on_message)
}

evaluate <- function(expression)
	with_handlers(withVisible(eval(expression, globalenv())))

on_message <- function(condition) {
	send_stderr(conditionMessage(condition))
	invokeRestart("muffleMessage")
}

# options(warn) decides: below 0 they are dropped, from 2 on they are errors.
on_warning <- function(condition) {
	if (getOption("warn") >= 2)
		return(invisible())
	if (getOption("warn") >= 0)
		send_stderr(paste0("Warning message:\n", in_call(condition, "In ", " : "), conditionMessage(condition), "\n"))
	invokeRestart("muffleWarning")
}

# The call of a condition, unless it is our own.
in_call <- function(condition, before, after) {
	call <- conditionCall(condition)
	if (is.null(call) || identical(call[[1]], quote(eval)) || identical(call[[1]], quote(withVisible)))
		return("")
	paste0(before, deparse(call, nlines = 1L)[1], after)
}

on_error <- function(e, depth) {
	calls <- sys.calls()[-seq_len(depth)]
	ours <- c("withCallingHandlers", "withVisible", "eval", "with_handlers", "evaluate")
	named <- function(call, names) is.name(call[[1]]) && as.character(call[[1]]) %in% names
	while (length(calls) && named(calls[[1]], ours))
		calls <- calls[-1]
	while (length(calls) && (is.function(calls[[length(calls)]][[1]]) ||
	                         named(calls[[length(calls)]], c(".handleSimpleError", "h", "(function", "on_error", "stop"))))
		calls <- calls[-length(calls)]
	trace <- vapply(calls, function(call) deparse(call, nlines = 1L)[1], "")
	head <- paste0("Error", in_call(e, " in ", " "), ": ", conditionMessage(e))
	name <- class(e)[1]
	send_error(if (name == "simpleError") "Error" else name, conditionMessage(e),
	           paste(c(head, if (length(trace)) c("Traceback:", sprintf("%d. %s", seq_along(trace), trace))), collapse = "\n"))
	state$failed <- TRUE
}
