// runCode of JavaScript and TypeScript: state, values, modules, errors, interrupts.
import { assert, test } from './harness.mjs'
import { LIMIT_MS, run, sharedSandbox, stderr, stdout } from './interpreter.mjs'

const shared = sharedSandbox()
const it = (name, fn) => test(name, () => fn((code, options) => run(shared.sandbox, code, { language: 'js', ...options }), shared.sandbox), LIMIT_MS)

it('output and values', async (js) => {
  const done = await js('console.log("Hello World!"); console.error("bad"); 1 + 1')
  assert.deepEqual([done.logs, done.text], [{ stdout: ['Hello World!\n'], stderr: ['bad\n'] }, '2'])
  assert.deepEqual((await js('const nothing = 1')).results, [])
  assert.equal((await js('`a "quoted"\ntext ü😀`')).text, 'a "quoted"\ntext ü😀')
  const { results } = await js('({ a: [1, null, "x"] })')
  assert.deepEqual([results[0].json, results[0].text, results[0].isMainResult], [{ a: [1, null, 'x'] }, "{ a: [ 1, null, 'x' ] }", true])
})

it('modules and top-level await', async (js) => {
  assert.equal(stdout(await js('\n    import { readFileSync } from \'fs\'\n    console.log(typeof readFileSync)\n    ')), 'function\n')
  assert.equal((await js('\n    await Promise.resolve(\'Hello World!\')\n    ')).text, 'Hello World!')
  assert.equal((await js('typeof readFileSync + typeof require("os").cpus')).text, 'functionfunction')
})

it('a module that was written before', async (js, sandbox) => {
  await sandbox.files.write('/home/user/lib/sum.mjs', 'export const sum = (...values) => values.reduce((a, b) => a + b)')
  assert.equal((await js('import { sum } from "./lib/sum.mjs"\nsum(1, 2, 3)')).text, '6')
})

it('declarations stay, and may be made again', async (js) => {
  await js('const x = 1; class A { m() { return x } }\nfunction f() { return x * 10 }')
  assert.equal((await js('[x, new A().m(), f()].join()')).text, '1,1,10')
  assert.equal((await js('const x = 2; f()')).text, '20')
})

it('TypeScript shares everything with JavaScript', async (js) => {
  const ts = (code) => js(code, { language: 'ts' })
  assert.equal(stdout(await ts('const message: string = "Hello World!"; console.log(message)')), 'Hello World!\n')
  await ts('enum Level { Low = 1, High }\ninterface Shape { side: number }\nconst area = <T extends Shape>(s: T): number => s.side ** 2')
  assert.equal((await js('area({ side: Level.High })')).text, '4')
})

it('images, HTML and what display() shows', async (js) => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  assert.equal((await js(`Buffer.from("${png}", "base64")`)).results[0].png, png)
  const { results } = await js('display.html("<b>shown</b>"); display({ "text/markdown": "# h" }); ({ toHTML: () => "<i>" })')
  assert.deepEqual(results.map((r) => [r.html, r.markdown, r.isMainResult]),
    [['<b>shown</b>', undefined, false], [undefined, '# h', false], ['<i>', undefined, true]])
})

it('errors', async (js, sandbox) => {
  const { error, logs } = await sandbox.runCode('console.log("before")\nfunction bad() {\n  throw new TypeError("wrong")\n}\nbad()', { language: 'js' })
  assert.deepEqual([error.name, error.value, logs.stdout], ['TypeError', 'wrong', ['before\n']])
  assert.match(error.traceback, /^TypeError: wrong\n {4}at bad \(<cell \d+>:3:9\)\n {4}at <cell \d+>:5:1$/)
  for (const [code, name, value] of [['let 5', 'SyntaxError', /./], ['missing', 'ReferenceError', /missing is not defined/],
    ['Promise.reject(new Error("nobody")); 1', 'Error', /nobody/], ['process.exit(4)', 'ExitError', /4/]]) {
    const done = await sandbox.runCode(code, { language: 'js' })
    assert.deepEqual([done.error?.name, value.test(done.error?.value)], [name, true], code)
  }
  assert.equal((await js('typeof bad')).text, 'function')
})

it('an execution that is given up is interrupted', async (js, sandbox) => {
  await js('let kept = "kept"')
  for (const code of ['for (;;) {}', 'await new Promise(() => {})', 'while (true) await null']) {
    await assert.rejects(sandbox.runCode(code, { language: 'js', timeoutMs: 1500 }))
    assert.equal((await js('kept')).text, 'kept', code)
  }
})

it('much output arrives whole', async (js) => {
  let size = 0
  await js('for (let i = 0; i < 300; i++) console.log("x".repeat(9999))', { onStdout: ({ line }) => { size += line.length } })
  assert.equal(size, 3_000_000)
})

it('programs print into the execution', async (js) => {
  const done = await js('const { status } = require("child_process").spawnSync("sh", ["-c", "echo out; echo err >&2"], { stdio: "inherit" }); status')
  assert.deepEqual([stdout(done), stderr(done), done.text], ['out\n', 'err\n', '0'])
})
