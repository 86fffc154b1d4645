# The R driver of the code interpreter (docs/interpreter.md).
#
#   requests (3) ──► loop ──► execute ──► each expression: evaluate, print
#   events   (4) ◄── frames ◄── output buffer ◄── sink() ◄── what R prints
#
# R prints a value in many small pieces, and can tell nobody when it has: all goes to a buffer, and is one
# event when the buffer is emptied. That is after each expression, and, so that loops are seen live, after
# each of the functions by which code prints or waits (masks.R). Messages and warnings are conditions: they
# are events when they are signalled. What programs write goes straight to 1 and 2.
#
# Interrupts are suspended but for the code. Plots are pages of one PNG device, which is closed behind the
# execution. R cannot mark descriptors close-on-exec: programs that it starts have 3 and 4, too.

local({
	driver <- new.env()
	here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)[1]))
	for (name in c("frames.R", "show.R", "masks.R", "execute.R"))
		sys.source(file.path(here, name), driver)
	driver$start()
	suspendInterrupts(driver$loop())
	quit("no")
})
