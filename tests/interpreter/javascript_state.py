"""The JavaScript driver: what stays between executions, values, environment, working directory."""
import sys

from harness.tap import check, check_equal, run
from interpreter.javascript import start

shared = start()


def text(code, **more):
    done = shared.execute(code, **more)
    check_equal(done.error and done.error["traceback"], None, code)
    return done.text


def test_the_value_of_the_last_expression_is_the_main_result():
    done = shared.execute("1 + 1\n2 + 3")
    check_equal((done.text, len(done.results), done.stdout), ("5", 1, ""))


def test_undefined_is_no_result():
    for code in ("undefined", "let nothing = 5", "if (true) { 5 }", "function unused() {}", "", "// nothing", ";"):
        check_equal(shared.execute(code).results, [], code)


def test_a_function_behind_the_last_expression_does_not_hide_it():
    check_equal(text("late(2);\nfunction late(n) { return n * 2 }"), "4")


def test_declarations_of_every_kind_stay():
    shared.execute("let a = 1; const b = 2; var c = 3; function d() { return 4 }; class E { f() { return 5 } }\n"
                   "const { g, h: [i] } = { g: 6, h: [7] }; let j, k = 8")
    check_equal(text("[a, b, c, d(), new E().f(), g, i, j, k].join()"), "1,2,3,4,5,6,7,,8")


def test_var_stays_wherever_it_stands():
    shared.execute("for (var n = 0; n < 3; n++) { var inBlock = n }\nif (true) var inIf = 'x'\nfor (var key in { z: 1 }) ;\n"
                   "for (var [first] of [[9]]) ;")
    check_equal(text("[n, inBlock, inIf, key, first].join()"), "3,2,x,z,9")


def test_let_of_a_block_does_not_stay():
    shared.execute("{ let inner = 1; function alsoInner() {} }\nfor (let counter = 0; counter < 2; counter++) ;")
    check_equal(text("typeof inner + typeof counter"), "undefinedundefined")


def test_everything_may_be_declared_again():
    for code in ("let again = 1", "const again = 2", "var again = 3", "function again() {}", "class again {}", "let again = 4"):
        check_equal(shared.execute(code).error, None, code)
    check_equal(text("again"), "4")


def test_functions_see_what_is_declared_later():
    shared.execute("function outer() { return helper() + value }\nfunction helper() { return 1 }\nlet value = 10")
    check_equal(text("outer()"), "11")
    shared.execute("function helper() { return 2 }\nconst value = 20")
    check_equal(text("outer()"), "22")


def test_constants_cannot_be_assigned():
    shared.execute("const fixed = 1")
    for code in ("fixed = 2", "fixed++", "fixed += 1", "function change() { fixed = 3 }\nchange()"):
        done = shared.execute(code)
        check_equal((done.error["name"], done.error["value"]), ("TypeError", "Assignment to constant variable."), code)
    check_equal(text("const fixed = 4; fixed"), "4")


def test_names_of_the_platform_can_be_declared_without_harm_to_it():
    shared.execute("import { setTimeout } from 'timers/promises'\nconst URL = 'mine', { fetch } = { fetch: 'own' }")
    check_equal(text("await setTimeout(1, 'waited')"), "waited")
    check_equal(text("[URL, fetch, typeof globalThis.URL, typeof globalThis.fetch, ({ URL }).URL].join()"),
                "mine,own,function,function,mine")
    check_equal(text("((URL) => URL)(5)"), "5")
    check_equal(text("await new Promise((done) => globalThis.setTimeout(done, 1, 'library'))"), "library")


def test_without_a_semicolon():
    check_equal(text("let p\n(function () { p = 1 })()\nlet q = 2\n;[p, q].join()"), "1,2")
    check_equal(text("const r = 'r'\nconst { s } = { s: 's' }\nclass T {}\n`${r}${s}`"), "rs")


def test_an_object_alone_is_an_object():
    check_equal(shared.execute("{ a: 1, b: { c: [2] } }").main.json(), {"a": 1, "b": {"c": [2]}})
    check_equal(text("{ let x = 1; console.log(x) }"), None)


def test_a_string_alone_is_a_value():
    check_equal(text("'use the force'"), "use the force")
    check_equal(text("'use strict'; (function () { return this })()"), None)


def test_this_and_arguments_are_those_of_a_script():
    check_equal(text("this === globalThis"), "true")
    check_equal(text("typeof arguments"), "undefined")


def test_top_level_await():
    check_equal(text("const waited = await Promise.resolve(5); waited * 2"), "10")
    check_equal(text("waited + await (async () => 1)()"), "6")
    check_equal(text("for await (const part of (async function* () { yield 1; yield 2 })()) var last = part\nlast"), "2")


def test_a_promise_is_waited_for():
    check_equal(text("Promise.resolve('there')"), "there")
    check_equal(shared.execute("(async () => { console.log('run') })()").stdout, "run\n")


def test_functions_keep_their_names():
    check_equal(text("function named() {}\nconst arrow = () => {}\nclass Kept {}\n[named.name, arrow.name, Kept.name].join()"),
                "named,arrow,Kept")


def test_executions_are_counted():
    first = shared.execute("syntax error here")
    check_equal(shared.execute("1").count, first.count + 1)


def test_timers_go_on_between_executions():
    shared.execute("let ticks = 0; const timer = setInterval(() => { ticks++ }, 5)")
    check_equal(text("const seen = ticks; while (ticks < seen + 3) await new Promise((r) => globalThis.setTimeout(r, 5))\n"
                     "clearInterval(timer); ticks >= seen + 3"), "true")


def test_variables_of_the_context_stay():
    shared.set_env("KEPT", "a=b")
    check_equal(text("process.env.KEPT"), "a=b")
    check_equal(text("process.env.KEPT"), "a=b")


def test_variables_of_one_execution_go():
    shared.set_env("BOTH", "context")
    check_equal(text("[process.env.BOTH, process.env.ONE].join()", env={"BOTH": "mine", "ONE": "1"}), "mine,1")
    check_equal(text("[process.env.BOTH, process.env.ONE].join()"), "context,")


def test_the_working_directory():
    text("process.chdir('/usr')")
    check_equal(text("[process.cwd(), __dirname, require('path').dirname(__filename), import.meta.dirname].join()"),
                "/usr,/usr,/usr,/usr")
    text("const __dirname = '/own'")
    check_equal(text("__dirname"), "/own")


def test_it_looks_like_the_main_program():
    check_equal(text("require.main === module"), "true")
    check_equal(text("process.chdir(require('path').dirname(process.argv[1])); import.meta.url === `file://${process.argv[1]}`"), "true")


def test_the_end_of_requests_ends_the_driver():
    with start() as driver:
        driver.execute("setInterval(() => {}, 1000)")
        check_equal(driver.close(), 0)


run(sys.modules[__name__])
