"""The JavaScript driver: modules, TypeScript, interrupts, and what it says when it cannot work."""
import os
import shutil
import subprocess
import sys
import tempfile

from harness.tap import check, check_equal, run
from interpreter.driver import Driver, Failed
from interpreter.javascript import COMMAND, start

shared = start()
shared.execute("const place = require('fs').mkdtempSync(require('os').tmpdir() + '/modules-'); process.chdir(place)\n"
               "function put(name, text) { const path = require('path'), fs = require('fs')\n"
               "  fs.mkdirSync(path.dirname(path.resolve(name)), { recursive: true }); fs.writeFileSync(name, text) }")


def text(code, **more):
    done = shared.execute(code, **more)
    check_equal(done.error and done.error["traceback"], None, code)
    return done.text


def interrupted(code, sign="go"):
    """Its error, when it is interrupted after it has printed the sign."""
    execution = shared.start(code)
    shared.wait_for(lambda execution: sign in execution.stdout)
    shared.interrupt()
    done = shared.finish()
    check(done.error, f"no error: {execution}")
    return done.error["name"]


def test_imports_of_every_kind():
    shared.execute("put('one.mjs', 'export default 1; export const a = 2, b = 3; export let count = 0')\nput('data.json', '{\"k\": [1]}')")
    check_equal(text("import one, { a, b as c } from './one.mjs'\nimport * as all from './one.mjs'\nimport './one.mjs'\n"
                     "[one, a, c, all.b].join()"), "1,2,3,3")
    check_equal(text("one + a"), "3")
    check_equal(text("import data from './data.json' with { type: 'json' }\ndata.k[0]"), "1")
    check_equal(text("(await import('./one.mjs')).default"), "1")
    check_equal(text("typeof first; import { readFileSync as first } from 'node:fs'"), None)
    check_equal(text("typeof first"), "function")


def test_imports_come_first():
    check_equal(text("const joined = join('a', 'b')\nimport { join } from 'path'\njoined"), "a/b")


def test_imported_names_are_constant():
    shared.execute("import { sep } from 'path'")
    check_equal(shared.execute("sep = 'x'").error["name"], "TypeError")


def test_names_that_are_not_there():
    found = shared.execute("import { nope } from 'fs'").error
    check_equal((found["name"], found["value"]), ("SyntaxError", "The requested module 'fs' does not provide an export named 'nope'"))
    found = shared.execute("import 'not-installed'").error
    check("Cannot find package 'not-installed'" in found["value"], found)


def test_exports_are_declarations():
    check_equal(text("export const exported = 1\nexport function run() { return exported }\nexport default class Kept {}\n"
                     "export { exported as other }\nrun() + new Kept().constructor.name"), "1Kept")
    check_equal(text("export default 5 + 1"), "6")


def test_packages_of_the_working_directory():
    shared.execute("put('node_modules/common/index.js', 'exports.kind = \"common\"')\n"
                   "put('node_modules/modern/package.json', '{\"type\": \"module\", \"exports\": {\"import\": \"./m.js\"}}')\n"
                   "put('node_modules/modern/m.js', 'export const kind = \"modern\"')")
    check_equal(text("require('common').kind"), "common")
    check_equal(text("import { kind } from 'common'\nimport { kind as other } from 'modern'\nkind + other"), "commonmodern")


def test_packages_that_are_installed_globally():
    with start() as driver:
        driver.execute("const home = require('fs').mkdtempSync(require('os').tmpdir() + '/home-'), fs = require('fs')\n"
                       "fs.mkdirSync(home + '/.local/lib/node_modules/everywhere', { recursive: true })\n"
                       "fs.writeFileSync(home + '/.local/lib/node_modules/everywhere/index.js', 'exports.yes = 1')\n"
                       "process.env.HOME = home")
        check_equal(driver.execute("require('everywhere').yes").text, "1")
        check_equal(driver.execute("import { yes } from 'everywhere'\nyes + 1").text, "2")


def test_modules_change_with_the_directory():
    shared.execute("put('sub/local.cjs', 'module.exports = \"sub\"'); process.chdir('sub')")
    check_equal(text("require('./local.cjs') + (await import('./local.cjs')).default"), "subsub")
    shared.execute("process.chdir('..')")
    check_equal(shared.execute("require('./local.cjs')").error["name"], "Error")


def test_import_in_functions_and_eval():
    check_equal(text("const lazy = async () => (await import('path')).sep\nlazy()"), "/")
    check_equal(text("eval('x1 = 5'); x1 + eval('2')"), "7")


def test_typescript():
    check_equal(shared.execute("const message: string = 'Hello World!'; console.log(message)").stdout, "Hello World!\n")
    check_equal(text("enum Colour { Red, Green = 5 }\nnamespace Space { export const v = 3 }\ntype T = { a: number }\n"
                     "interface I { b?: string }\nconst typed: T = { a: 1 }\nabstract class Base<X> { constructor(public x: X) {} }\n"
                     "class Derived extends Base<number> {}\n[Colour.Green, Colour[0], Space.v, typed.a, new Derived(7).x].join()"),
                "5,Red,3,1,7")
    check_equal(text("Colour.Red + Space.v + typed.a"), "4")


def test_types_of_modules_are_not_imported():
    shared.execute("put('typed.mjs', 'export const real = 1')")
    check_equal(text("import type { Gone } from './missing'\nimport { type Other, Shape, real } from './typed.mjs'\n"
                     "const s: Shape | Gone | Other = real\ns"), "1")


def test_an_import_for_a_later_execution_stays():
    shared.execute("import { basename } from 'path'\nconst marker: number = 1")
    check_equal(text("basename('/a/b')"), "b")


def test_what_is_javascript_and_typescript_is_meant_as_typescript():
    check_equal(text("function same<T>(value: T): T { return value }\nsame<string>('x')"), "x")
    check_equal(text("same<string>('y')"), "y")
    check_equal(text("new Set<number>([1, 1]).size"), "1")
    check_equal(text("let low = 1, mid = 2; low < mid > (0)"), "true")


def test_decorators():
    check_equal(text("function twice(method: any, context: any) { return function (this: any) { return 2 * method.call(this) } }\n"
                     "class Decorated { @twice m() { return 21 } }\nnew Decorated().m()"), "42")


def test_positions_in_typescript():
    done = shared.execute("interface A {\n  a: number\n}\n\nfunction fails(a: A): void {\n  throw new Error('at six')\n}\n\nfails({ a: 1 } as A)")
    check(":6:9" in done.error["traceback"] and ":9:1" in done.error["traceback"], done.error["traceback"])
    found = shared.execute("const a: number = 1\nconst b: = 2").error
    check_equal(found["name"], "SyntaxError")
    check(":2\nconst b: = 2\n" in found["traceback"], found["traceback"])


def test_interrupts_end_what_runs():
    shared.execute("let kept = 0; const sleep = (ms) => new Promise((done) => setTimeout(done, ms))")
    for code in ("console.log('go'); for (;;) kept++", "while (true) console.log('go')", "console.log('go'); await new Promise(() => {})",
                 "async function spin() { console.log('go'); for (;;) await null }\nawait spin()",
                 "await new Promise(() => setTimeout(() => { console.log('go'); for (;;) ; }, 1))",
                 "console.log('go'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
                 "const typed: number = 1; console.log('go'); for (;;) ;"):
        check_equal(interrupted(code), "KeyboardInterrupt", code)
        check_equal(text("kept >= 0"), "true")


def test_what_was_interrupted_does_not_go_on():
    check_equal(interrupted("async function work() { for (;;) { console.log('go'); await sleep(1); kept = 'went on' } }\nawait work()"),
                "KeyboardInterrupt")
    check_equal(text("kept = 'mine'; await sleep(60); kept"), "mine")


def test_interrupts_between_executions_do_nothing():
    for _ in range(3):
        shared.interrupt()
        done = shared.execute("1 + 1")
        if not shared.inside:  # there the signal takes a way of its own, and may come later than the request
            check_equal((done.error, done.text), (None, "2"))
    check_equal(text("kept"), "mine")


def test_without_its_packages_it_says_what_is_missing():
    if shared.inside:
        return
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(os.environ["SOURCE"], "guest/javascript"), folder + "/javascript", ignore=shutil.ignore_patterns("node_modules"))
        try:
            Driver([*COMMAND[:-1], folder + "/javascript/driver.cjs"])
            raise AssertionError("it starts")
        except Failed as failed:
            check("install npm" in str(failed), failed)


run(sys.modules[__name__])
