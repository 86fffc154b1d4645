// runCode of the code interpreter: values, state, output as it comes, errors, and what IPython adds to Python.
import { assert, test } from './harness.mjs'
import { LIMIT_MS, run, sharedSandbox, stderr, stdout, withInterpreter } from './interpreter.mjs'

const shared = sharedSandbox()
const it = (name, fn) => test(name, () => fn(shared.sandbox), LIMIT_MS)

withInterpreter('the value of the last line, state, and the count of executions', async (sandbox) => {
  const first = await run(sandbox, 'x = 1; x')
  assert.deepEqual([first.text, first.executionCount, first.results.length], ['1', 1, 1])
  assert.equal(first.results[0].isMainResult, true)
  const second = await run(sandbox, 'x += 1; x')
  assert.deepEqual([second.text, second.executionCount], ['2', 2])
  assert.deepEqual((await run(sandbox, 'y = 3')).results, [])
})

it('texts of values', async (sandbox) => {
  const texts = [['"a b"', 'a b'], ["'it\\'s'", "it's"], ['[1, "x"]', "[1, 'x']"], ['None', undefined], ['{}', '{}'],
    ['"ü😀"', 'ü😀'], ['"a\\nb"', 'a\\nb'], ['1/3', '0.3333333333333333'], ['1;', undefined]]
  for (const [code, text] of texts) assert.equal((await run(sandbox, code)).text, text, code)
})

it('code with an indentation, and code of nothing', async (sandbox) => {
  assert.equal((await run(sandbox, '\n        a = 5\n        if a:\n            a += 1\n        a\n        ')).text, '6')
  for (const code of ['', '  \n', '# only this']) {
    const done = await run(sandbox, code)
    assert.deepEqual([done.results, done.logs], [[], { stdout: [], stderr: [] }])
  }
})

it('standard output and standard error, piece by piece', async (sandbox) => {
  const out = [], err = []
  const done = await run(sandbox, 'import sys; print(1); print("bad", file=sys.stderr)',
    { onStdout: (m) => { out.push(m) }, onStderr: (m) => { err.push(m) } })
  assert.deepEqual(done.logs, { stdout: ['1\n'], stderr: ['bad\n'] })
  assert.deepEqual([out.map((m) => m.line), err.map((m) => m.line)], [['1\n'], ['bad\n']])
  assert.deepEqual([out[0].error, err[0].error], [false, true])
})

it('output arrives while the program runs', async (sandbox) => {
  // The program waits for a file that is written when its first line has arrived: without streaming it waits for ever.
  const code = `
import os, time
print("first", flush=True)
while not os.path.exists("/tmp/go-on"): time.sleep(0.01)
print("second")`
  let written
  const done = await run(sandbox, code, {
    onStdout: (m) => { if (m.line.startsWith('first')) written = sandbox.files.write('/tmp/go-on', 'x') },
  })
  await written
  assert.equal(stdout(done), 'first\nsecond\n')
})

it('results arrive while the program runs', async (sandbox) => {
  const code = `
import os, time
display("shown")
while not os.path.exists("/tmp/go-on-2"): time.sleep(0.01)
42`
  const seen = []
  const done = await run(sandbox, code, {
    onResult: async (r) => { seen.push(r.text); if (seen.length === 1) await sandbox.files.write('/tmp/go-on-2', 'x') },
  })
  assert.deepEqual(seen, ['shown', '42'])
  assert.deepEqual(done.results.map((r) => Boolean(r.isMainResult)), [false, true])
})

it('megabytes of output, unicode at every place', async (sandbox) => {
  const done = await run(sandbox, 'for i in range(20000): print(str(i) + "ü😀" * 20)')
  assert.equal(stdout(done), Array.from({ length: 20000 }, (_, i) => `${i}${'ü😀'.repeat(20)}\n`).join(''))
  assert.equal(stdout(await run(sandbox, 'print("x" * 5_000_000)')).length, 5_000_001)
})

it('errors: name, value, traceback without colours, and what was printed before', async (sandbox) => {
  const errors = []
  const done = await sandbox.runCode('print("before")\nxyz\nprint("behind")', { onError: (e) => { errors.push(e) } })
  assert.deepEqual([done.error.name, done.error.value], ['NameError', "name 'xyz' is not defined"])
  assert.match(done.error.traceback, /NameError/)
  assert.match(done.error.traceback, /xyz/)
  assert.doesNotMatch(done.error.traceback, /\x1b/)
  assert.deepEqual([stdout(done), errors.length, done.results, done.text], ['before\n', 1, [], undefined])
  assert.equal((await run(sandbox, '1 + 1')).text, '2')
})

it('errors of all kinds', async (sandbox) => {
  const kinds = [['1/0', 'ZeroDivisionError', /division by zero/], ['if', 'SyntaxError', /invalid syntax/],
    ['def f(:\n  pass', 'SyntaxError', /./], [' 1\n   2', 'IndentationError', /indent/], ['raise Exception("ü", 1)', 'Exception', /ü/],
    ['import no_such_module', 'ModuleNotFoundError', /no_such_module/], ['raise KeyboardInterrupt', 'KeyboardInterrupt', /.?/],
    ['class Mine(Exception): pass\nraise Mine("own")', 'Mine', /own/], ['assert 1 == 2, "not so"', 'AssertionError', /not so/]]
  for (const [code, name, value] of kinds) {
    const { error } = await sandbox.runCode(code)
    assert.equal(error?.name, name, code)
    assert.match(error.value, value)
  }
  assert.equal((await run(sandbox, '"alive"')).text, 'alive')
})

it('await at the top, magics, shell escapes', async (sandbox) => {
  assert.equal((await run(sandbox, 'import asyncio\nawait asyncio.sleep(0.01, "slept")')).text, 'slept')
  assert.equal(stdout(await run(sandbox, '!pwd')).trim(), '/home/user')
  assert.equal(stdout(await run(sandbox, '!echo a b | tr a-z A-Z')).trim(), 'A B')
  await run(sandbox, '%cd /tmp')
  assert.equal((await run(sandbox, 'import os; os.getcwd()')).text, '/tmp')
  await run(sandbox, '%cd /home/user')
  assert.equal(stdout(await run(sandbox, '%%bash\necho in $BASH_VERSINFO | cut -c1-2')).trim(), 'in')
  assert.equal((await run(sandbox, 'lines = !printf "a\\nb\\n"\nlist(lines)')).text, "['a', 'b']")
})

it('what subprocesses and libraries print is output', async (sandbox) => {
  const done = await run(sandbox, 'import os, subprocess\n_ = os.system("echo by system; echo bad >&2")\n' +
    '_ = subprocess.run(["echo", "by subprocess"])\n_ = os.write(1, b"by write\\n")')
  for (const line of ['by system', 'by subprocess', 'by write']) assert.match(stdout(done), new RegExp(line))
  assert.match(stderr(done), /bad/)
})

it('warnings are on standard error, input() fails clearly', async (sandbox) => {
  assert.match(stderr(await run(sandbox, 'import warnings; warnings.warn("careful")')), /UserWarning: careful/)
  const { error } = await sandbox.runCode('input("name? ")')
  assert.match(`${error.name} ${error.value}`, /input/i)
})

it('files that programs write are the files of the sandbox', async (sandbox) => {
  await run(sandbox, 'open("made.txt", "w").write("by python")')
  assert.equal(await sandbox.files.read('/home/user/made.txt'), 'by python')
  await sandbox.files.write('/home/user/module_of_mine.py', 'value = 7')
  assert.equal((await run(sandbox, 'import module_of_mine; module_of_mine.value')).text, '7')
})
