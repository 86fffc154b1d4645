"""The JavaScript driver: what programs print, and how values are shown."""
import base64
import sys

from harness.tap import check, check_equal, run
from interpreter.javascript import start

shared = start()
PNG = "Buffer.from('89504e470d0a1a0a00', 'hex')"


def test_a_call_of_console_is_one_frame():
    done = shared.execute("console.log(1); console.log('a', { b: [1, 2] }); console.error('bad'); console.info('%s!', 'yes')")
    check_equal((done.pieces["stdout"], done.pieces["stderr"]), (["1\n", "a { b: [ 1, 2 ] }\n", "yes!\n"], ["bad\n"]))
    check_equal(done.order, ["count", "stdout", "stdout", "stderr", "stdout", "done"])


def test_pieces_without_a_line_end():
    done = shared.execute("process.stdout.write('a'); process.stdout.write('b\\n'); process.stderr.write('c', () => {}); 0")
    check_equal((done.pieces["stdout"], done.stderr, done.text), (["a", "b\n"], "c", "0"))


def test_bytes_are_text_when_they_are_complete():
    done = shared.execute("process.stdout.write(Buffer.from([0xe2, 0x82])); process.stdout.write(Buffer.from([0xac]))\n"
                          "process.stdout.write('6869', 'hex'); process.stdout.write(Buffer.from([0xc3]))")
    check_equal(done.stdout, "€hi\ufffd")


def test_half_a_character_does_not_break_the_protocol():
    check_equal(shared.execute("console.log('\\ud800 \\u{1f600}')").stdout, "\ufffd \U0001f600\n")


def test_streams_can_be_piped_to():
    done = shared.execute("await new Promise((done) => require('stream').Readable.from(['x', 'y'])"
                          ".on('end', done).pipe(process.stdout))")
    check_equal(done.stdout, "xy")


def test_programs_that_are_run_print_to_the_descriptors():
    done = shared.execute("require('fs').writeSync(1, 'own ')\n"
                          "require('child_process').spawnSync('sh', ['-c', 'echo out; echo err >&2'], { stdio: 'inherit' }).status")
    check_equal((done.text, bytes(done.out), bytes(done.err), done.stdout), ("0", b"own out\n", b"err\n", ""))


def test_programs_that_are_run_do_not_see_the_protocol():
    listed = shared.execute("require('child_process').execSync('for fd in 3 4; do [ -e /dev/fd/$fd ] && "
                            "readlink /dev/fd/$fd; done; true').toString()").text
    check("pipe" not in listed and "socket" not in listed, listed)


def test_a_large_text_arrives_whole():
    done = shared.execute("console.log('€x'.repeat(700000))")
    check_equal((len(done.pieces["stdout"]), done.stdout == "€x" * 700000 + "\n"), (1, True))


def test_much_output_is_not_held():
    done = shared.execute("const before = process.memoryUsage().rss; const line = 'x'.repeat(50000)\n"
                          "for (let i = 0; i < 3000; i++) process.stdout.write(line)\n"
                          "process.memoryUsage().rss - before < 110e6")
    check_equal((len(done.stdout), done.text), (150000000, "true"))


def test_strings_are_shown_as_they_are():
    check_equal(shared.execute("'two\\nlines \"quoted\"'").text, 'two\nlines "quoted"')


def test_values_are_shown_as_by_the_console():
    for code, text in (("null", "null"), ("[1n, 'a']", "[ 1n, 'a' ]"), ("new Map([[1, { a: 2 }]])", "Map(1) { 1 => { a: 2 } }"),
                       ("(class A {})", "[class A]"), ("Symbol('s')", "Symbol(s)"), ("NaN", "NaN"), ("new Date(0)", "1970-01-01T00:00:00.000Z")):
        done = shared.execute(code)
        check_equal((done.main.parts), {"text/plain": text}, code)


def test_plain_objects_are_json_too():
    done = shared.execute("[{ a: 1, b: null }, ['c', true, 1.5], Object.create(null)]")
    check_equal(done.main.json(), [{"a": 1, "b": None}, ["c", True, 1.5], {}])
    check("b: null" in done.text, done.text)


def test_what_json_would_change_is_no_json():
    for code in ("[() => 1]", "({ d: new Date() })", "[NaN]", "[, 1]", "({ get x() { throw 1 } })", "[1n]", "[Symbol()]",
                 "const ring = []; ring.push(ring); ring", "({ toJSON() { return 1 } })", "[new Map()]", "new Proxy({}, {})"):
        check_equal(list(shared.execute(code).main.parts), ["text/plain"], code)


def test_json_has_its_limit():
    check_equal(list(shared.execute("['x'.repeat(9 << 20)]").main.parts), ["text/plain"])


def test_display():
    done = shared.execute("display({ 'text/html': '<b>x</b>', 'text/plain': 'x' }); console.log('between')\n"
                          "display([1]); display.markdown('# h'); display.json({ a: [1] }); 'end'")
    check_equal([r.parts for r in done.displays],
                [{"text/html": "<b>x</b>", "text/plain": "x"}, {"text/plain": "[ 1 ]", "application/json": "[1]"},
                 {"text/markdown": "# h"}, {"application/json": '{"a":[1]}'}])
    check_equal((done.text, done.order.index("stdout") > done.order.index("close")), ("end", True))


def test_images_are_known_by_their_first_bytes():
    for code, type in ((PNG, "image/png"), (f"new Uint8Array({PNG}).buffer", "image/png"),
                       ("new Uint8Array([0xff, 0xd8, 0xff, 0xe0])", "image/jpeg")):
        done = shared.execute(code)
        check(done.main.get(type), f"{code}: {done.main}")
    check_equal(base64.b64decode(shared.execute(PNG).main["image/png"]), bytes.fromhex("89504e470d0a1a0a00"))
    check_equal(list(shared.execute("Buffer.from('text')").main.parts), ["text/plain"])


def test_objects_say_how_they_are_shown():
    for code, parts in (
            ("({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<i>' }) })", {"text/html": "<i>"}),
            ("({ [Symbol.for('Jupyter.display')]: async () => ({ 'text/html': '<p>' }) })", {"text/html": "<p>"}),
            ("({ _toMime: () => ({ 'text/latex': '$x$', 'application/x.y+json': { a: 1 } }) })",
             {"text/latex": "$x$", "application/x.y+json": '{"a":1}'}),
            ("({ toHTML: () => '<h1>' })", {"text/html": "<h1>"}),
            ("({ _toPng: () => " + PNG + " })", {"image/png": "iVBORw0KGgoA"}),
            ("({ tagName: 'svg', outerHTML: '<svg/>' })", {"image/svg+xml": "<svg/>"}),
            ("({ toDataURL: () => 'data:image/png;base64,AAAA' })", {"image/png": "AAAA"})):
        main = shared.execute(code).main
        for type, content in parts.items():
            check_equal(main.get(type), content, code)
        check(main.get("text/plain"), code)


def test_a_display_that_takes_its_time_is_waited_for():
    done = shared.execute("display({ _toMime: async () => { await new Promise((r) => setTimeout(r, 20)); return { 'text/html': 'late' } } })")
    check_equal([r.get("text/html") for r in done.displays], ["late"])


def test_a_display_that_fails_is_an_error():
    check_equal(shared.execute("({ _toMime() { throw new Error('cannot') } })").error["value"], "cannot")
    check_equal(shared.execute("new Proxy({}, { get() { throw new Error('no') } })").text, "{}")


def test_unusable_parts_are_left_out():
    done = shared.execute("display({ 'text/html': 'yes', 'bad type': 1, 'application/json': 1n, ['x/' + 'y'.repeat(300)]: 'z' }, { raw: true })")
    check_equal(done.error and done.error["value"], None)
    check_equal(done.displays[0].parts, {"text/html": "yes"})


run(sys.modules[__name__])
