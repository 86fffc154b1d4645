# Functions that code finds before R's own, attached as "tools:hotcell": those that print, wait or run
# programs empty the output buffer, and leaving R ends the execution first. They are closed over the global
# environment, from where methods are dispatched; what they need of the driver is in their own calls.

# A function like `original` with `before` and `after` around it, visible as it was.
around <- function(original, before = NULL, after = NULL)
	eval(bquote(function(...) {
		.(if (!is.null(before)) as.call(list(before)))
		.(if (!is.null(after)) call("on.exit", as.call(list(after))))
		.(original)(...)
	}), globalenv())

attach_masks <- function() {
	masks <- list(
		print = around(base::print, after = flush_output),
		cat = around(base::cat, after = flush_output),
		writeLines = around(base::writeLines, after = flush_output),
		Sys.sleep = around(base::Sys.sleep, before = flush_output),
		system = around(base::system, before = flush_output),
		system2 = around(base::system2, before = flush_output),
		quit = leave, q = leave)
	attach(list2env(masks), name = "tools:hotcell", warn.conflicts = FALSE)
}

# quit() and q().
leave <- function(save = "no", status = 0, runLast = TRUE) {
	state$status <- status
	base::quit("no", status = 0, runLast = runLast)
}

# However R is left: by a finalizer.
on_exit <- function(unused) {
	if (is.null(state$id))
		return(invisible())
	if (state$status != 0)
		send_error("ExitStatus", as.character(state$status), "R has ended. The next execution starts it anew.")
	finish()
}
