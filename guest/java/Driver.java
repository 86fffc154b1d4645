/*
 * The Java driver of the code interpreter (docs/interpreter.md), on the API of JShell.
 *
 *     requests (3) ──► Loop ──► Session: snippet by snippet ──► JShell ──► the code, in this process
 *     events   (4) ◄── Events ◄── values, errors                            │
 *                             ◄── System.out and System.err, by piece ◄─────┘
 *
 * The code runs in this virtual machine ("local" execution): a second one would double the time to start
 * and the memory. So System.exit() ends the driver; a shutdown hook ends the execution before. Processes
 * that the code starts have no descriptors but 0, 1 and 2: Java closes the others.
 *
 * One file, for Java 11 and later: where there was no compiler at build time it is run as it is.
 */
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import jdk.jshell.DeclarationSnippet;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.execution.LocalExecutionControlProvider;
import sun.misc.Signal;

public class Driver {
	/* Apart from the rest, which cannot even be loaded without JShell. */
	public static void main(String[] arguments) throws IOException {
		if (ModuleLayer.boot().findModule("jdk.jshell").isPresent()) {
			Loop.begin();
			return;
		}
		new Events(new FileOutputStream("/proc/self/fd/4"))
			.send("failed", "-", "This Java has no JShell: install default-jdk-headless, or a JDK with the module jdk.jshell");
		Runtime.getRuntime().halt(1);
	}
}

/* Requests, one after the other. */
class Loop {
	private final InputStream requests;
	private final Events events;
	private final Session session;
	private final Map<String, String> before = new HashMap<>(); // variables of `with`
	private volatile String id; // while executing
	private int count;

	Loop() throws IOException {
		requests = new BufferedInputStream(new FileInputStream("/proc/self/fd/3"));
		events = new Events(new FileOutputStream("/proc/self/fd/4"));
		System.setOut(new Printer(events, "stdout"));
		System.setErr(new Printer(events, "stderr"));
		session = new Session(events);
		Signal.handle(new Signal("INT"), unused -> session.interrupt());
		Runtime.getRuntime().addShutdownHook(new Thread(() -> finish()));
	}

	static void begin() throws IOException {
		Loop loop = new Loop();
		loop.events.send("ready", "-", "");
		loop.run();
		Runtime.getRuntime().halt(0); // threads of the code are not waited for
	}

	/* Until there are no more requests. */
	private void run() throws IOException {
		String[] header;
		while ((header = readHeader()) != null) {
			byte[] content = requests.readNBytes(Integer.parseInt(header[2]));
			handle(header[0], header[1], new String(content, StandardCharsets.UTF_8));
		}
	}

	private String[] readHeader() throws IOException {
		ByteArrayOutputStream line = new ByteArrayOutputStream();
		int c;
		while ((c = requests.read()) >= 0 && c != '\n' && line.size() < 200)
			line.write(c);
		String[] words = line.toString(StandardCharsets.US_ASCII).split(" ");
		return words.length == 3 ? words : null;
	}

	private void handle(String name, String argument, String content) {
		int equals = content.indexOf('=');
		if (name.equals("execute"))
			execute(argument, content);
		else if (equals > 0) {
			String key = content.substring(0, equals);
			if (name.equals("with") && !before.containsKey(key))
				before.put(key, System.getProperty(key));
			System.setProperty(key, content.substring(equals + 1));
		}
	}

	private void execute(String newId, String code) {
		id = newId;
		session.begin();
		events.send("count", Integer.toString(++count), "");
		try {
			session.execute(code);
		} catch (RuntimeException | Error problem) { // of JShell itself
			events.error(problem.getClass().getSimpleName(), String.valueOf(problem.getMessage()), problem.toString());
		}
		finish();
	}

	/* Also when the code ends the virtual machine. */
	private synchronized void finish() {
		if (id == null)
			return;
		session.end();
		before.forEach((key, value) -> {
			if (value == null)
				System.clearProperty(key);
			else
				System.setProperty(key, value);
		});
		before.clear();
		System.out.flush();
		System.err.flush();
		events.send("done", id, "");
		id = null;
	}
}

/* Events to descriptor 4, each as one. */
class Events {
	private final OutputStream out;

	Events(OutputStream out) {
		this.out = out;
	}

	synchronized void send(String name, String argument, String text) {
		try {
			out.write(frame(name, argument, text));
		} catch (IOException gone) {
			Runtime.getRuntime().halt(1);
		}
	}

	synchronized void result(String text) {
		send("result", "main", "");
		send("part", "text/plain", text);
		send("close", "-", "");
	}

	synchronized void error(String name, String value, String traceback) {
		send("error", "-", "");
		send("part", "name", name);
		send("part", "value", value);
		send("part", "traceback", traceback);
		send("close", "-", "");
	}

	private static byte[] frame(String name, String argument, String text) throws IOException {
		byte[] content = text.getBytes(StandardCharsets.UTF_8);
		ByteArrayOutputStream frame = new ByteArrayOutputStream(content.length + 64);
		frame.write((name + " " + argument + " " + content.length + "\n").getBytes(StandardCharsets.US_ASCII));
		frame.write(content);
		return frame.toByteArray();
	}
}

/* System.out and System.err: a piece is what one call prints. Being a class of its own, it prints the end
 * of a line as a piece of its own, which is what clients of this interface have always seen. */
class Printer extends PrintStream {
	Printer(Events events, String name) throws IOException {
		super(new Pieces(events, name), true, "UTF-8");
	}

	private static class Pieces extends OutputStream {
		private final Events events;
		private final String name;
		private byte[] rest = new byte[0]; // of a character that is not complete

		Pieces(Events events, String name) {
			this.events = events;
			this.name = name;
		}

		@Override
		public void write(int b) {
			write(new byte[] { (byte)b }, 0, 1);
		}

		@Override
		public synchronized void write(byte[] bytes, int offset, int size) {
			byte[] all = new byte[rest.length + size];
			System.arraycopy(rest, 0, all, 0, rest.length);
			System.arraycopy(bytes, offset, all, rest.length, size);
			int complete = all.length - incomplete(all);
			rest = Arrays.copyOfRange(all, complete, all.length);
			if (complete > 0)
				events.send(name, "-", new String(all, 0, complete, StandardCharsets.UTF_8));
		}

		/* How many bytes at the end begin a character and do not end it. */
		private static int incomplete(byte[] bytes) {
			for (int n = 1; n <= 3 && n <= bytes.length; n++) {
				int b = bytes[bytes.length - n] & 0xff;
				if (b >= 0xc0)
					return n < (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) ? n : 0;
				if (b < 0x80)
					return 0;
			}
			return 0;
		}
	}
}

/* JShell, and one execution after the other. */
class Session {
	private static final String[] IMPORTS = { "java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.util.*",
		"java.util.concurrent.*", "java.util.function.*", "java.util.prefs.*", "java.util.regex.*", "java.util.stream.*" };
	private static final Pattern ESCAPE = Pattern.compile("\\\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", Pattern.DOTALL);
	private static final int STOP_AGAIN_MS = 50;
	private static final int FRAMES_MAX = 50;

	private final Events events;
	private final JShell shell;
	private final SourceCodeAnalysis analysis;
	private boolean executing, interrupted;

	Session(Events events) {
		this.events = events;
		shell = JShell.builder().executionEngine(new LocalExecutionControlProvider(), Map.of()).out(System.out).err(System.err).build();
		String path = System.getenv("CLASSPATH");
		if (path != null && !path.isEmpty())
			for (String entry : path.split(File.pathSeparator))
				shell.addToClasspath(entry);
		analysis = shell.sourceCodeAnalysis();
		for (String name : IMPORTS)
			shell.eval("import " + name + ";");
	}

	/* SIGINT, in a thread of its own. Code that is still being compiled cannot be stopped: again, then. */
	void interrupt() {
		synchronized (this) {
			if (!executing || interrupted)
				return;
			interrupted = true;
		}
		Thread stopper = new Thread(() -> {
			while (isStopping()) {
				shell.stop();
				try {
					Thread.sleep(STOP_AGAIN_MS);
				} catch (InterruptedException never) {
					return;
				}
			}
		});
		stopper.setDaemon(true);
		stopper.start();
	}

	private synchronized boolean isStopping() {
		return executing && interrupted;
	}

	synchronized void begin() {
		executing = true;
		interrupted = false;
	}

	synchronized void end() {
		executing = false;
	}

	void execute(String code) {
		String rest = code;
		while (!rest.isBlank()) {
			SourceCodeAnalysis.CompletionInfo info = analysis.analyzeCompletion(rest);
			if (info.completeness() == SourceCodeAnalysis.Completeness.EMPTY)
				return;
			boolean whole = info.completeness().isComplete();
			String snippet = whole ? info.source() : rest;
			rest = whole ? info.remaining() : "";
			if (!evaluate(snippet, rest.isBlank()))
				return;
		}
	}

	/* False: the execution ends here. */
	private boolean evaluate(String code, boolean last) {
		List<SnippetEvent> all = shell.eval(code);
		synchronized (this) {
			if (interrupted) {
				executing = false;
				events.error("KeyboardInterrupt", "The execution was interrupted.", "");
				return false;
			}
		}
		for (SnippetEvent event : all) {
			if (event.causeSnippet() != null)
				continue; // something earlier, that became valid or was replaced
			if (event.status() == Snippet.Status.REJECTED) {
				rejected(event.snippet(), code);
				return false;
			}
			if (event.exception() != null) {
				thrown(event.exception());
				return false;
			}
			if (event.snippet() instanceof DeclarationSnippet)
				unresolved((DeclarationSnippet)event.snippet());
			if (last && isValue(event.snippet()) && event.value() != null)
				events.result(unquoted(event.value()));
		}
		return true;
	}

	private static boolean isValue(Snippet snippet) {
		switch (snippet.subKind()) {
		case TEMP_VAR_EXPRESSION_SUBKIND:
		case VAR_VALUE_SUBKIND:
		case OTHER_EXPRESSION_SUBKIND:
			return true;
		default:
			return false;
		}
	}

	/* JShell shows strings and characters as literals. */
	private static String unquoted(String value) {
		int size = value.length();
		if (size < 2 || !(value.startsWith("\"") && value.endsWith("\"") || value.startsWith("'") && value.endsWith("'")))
			return value;
		StringBuilder text = new StringBuilder();
		Matcher escape = ESCAPE.matcher(value.substring(1, size - 1));
		while (escape.find())
			escape.appendReplacement(text, Matcher.quoteReplacement(meaning(escape.group(1))));
		return escape.appendTail(text).toString();
	}

	private static String meaning(String escape) {
		if (escape.charAt(0) == 'u')
			return String.valueOf((char)Integer.parseInt(escape.substring(1), 16));
		if (Character.isDigit(escape.charAt(0)))
			return String.valueOf((char)Integer.parseInt(escape, 8));
		int known = "nrtbf".indexOf(escape);
		return known < 0 ? escape : "\n\r\t\b\f".substring(known, known + 1);
	}

	/* ---- errors ---- */

	private void rejected(Snippet snippet, String code) {
		List<String> lines = new ArrayList<>();
		String first = null;
		for (Diag diag : shell.diagnostics(snippet).filter(Diag::isError).collect(Collectors.toList())) {
			String message = diag.getMessage(Locale.ENGLISH);
			if (first == null)
				first = message.lines().findFirst().orElse("");
			lines.add("error: " + message);
			lines.add(marked(code, (int)diag.getStartPosition(), (int)diag.getEndPosition()));
		}
		events.error("CompilationError", first == null ? "The code cannot be compiled" : first, String.join("\n", lines));
	}

	/* The line at which the compiler points. */
	private static String marked(String code, int start, int end) {
		start = Math.max(0, Math.min(start, code.length()));
		int begin = code.lastIndexOf('\n', start - 1) + 1;
		int stop = code.indexOf('\n', start);
		String line = code.substring(begin, stop < 0 ? code.length() : stop);
		int width = Math.max(1, Math.min(end, begin + line.length()) - start);
		return line + "\n" + line.substring(0, Math.min(start - begin, line.length())).replaceAll("[^\t]", " ") + "^".repeat(width);
	}

	private void thrown(JShellException exception) {
		if (exception instanceof UnresolvedReferenceException) {
			DeclarationSnippet snippet = ((UnresolvedReferenceException)exception).getSnippet();
			events.error("UnresolvedReference", missing(snippet), missing(snippet) + "\n" + trace(exception));
			return;
		}
		String name = exception instanceof EvalException ? ((EvalException)exception).getExceptionClassName()
							  : exception.getClass().getName();
		String message = exception.getMessage() == null ? "" : exception.getMessage();
		StringBuilder text = new StringBuilder(name + (message.isEmpty() ? "" : ": " + message) + "\n" + trace(exception));
		for (Throwable cause = exception.getCause(); cause != null; cause = cause.getCause()) {
			String of = cause instanceof EvalException ? ((EvalException)cause).getExceptionClassName() : cause.getClass().getName();
			text.append("Caused by: ").append(of).append(cause.getMessage() == null ? "" : ": " + cause.getMessage());
			text.append("\n").append(trace(cause));
		}
		events.error(name.substring(name.lastIndexOf('.') + 1), message, text.toString().stripTrailing());
	}

	/* The calls of the code, which JShell has named by the numbers of snippets. */
	private static String trace(Throwable thrown) {
		StringBuilder text = new StringBuilder();
		StackTraceElement[] elements = thrown.getStackTrace();
		for (int i = 0; i < elements.length && i < FRAMES_MAX; i++)
			text.append("\tat ").append(elements[i].toString().replaceFirst("^\\.", "")).append("\n");
		if (elements.length > FRAMES_MAX)
			text.append("\t... ").append(elements.length - FRAMES_MAX).append(" more\n");
		return text.toString();
	}

	/* A declaration that uses what is not there yet can be made, but not used. */
	private void unresolved(DeclarationSnippet snippet) {
		if (shell.status(snippet) == Snippet.Status.RECOVERABLE_DEFINED
		    || shell.status(snippet) == Snippet.Status.RECOVERABLE_NOT_DEFINED)
			System.err.println(missing(snippet));
	}

	private String missing(DeclarationSnippet snippet) {
		List<String> needed = shell.unresolvedDependencies(snippet).collect(Collectors.toList());
		if (needed.isEmpty())
			needed = shell.diagnostics(snippet).map(diag -> diag.getMessage(Locale.ENGLISH)).collect(Collectors.toList());
		return snippet.name() + " cannot be used until there is " + String.join(", ", needed);
	}
}
