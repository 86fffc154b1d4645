// bash, R, Java and Jupyter kernels through the SDK; docs/interpreter.md says what each does.
import { Sandbox, assert, test } from './harness.mjs'
import { LIMIT_MS, run, sharedSandbox, stderr, stdout, withInterpreter } from './interpreter.mjs'

const shared = sharedSandbox({ envs: { TEST_ENV_VAR: 'supertest' } })
const it = (name, fn) => test(name, () => fn(shared.sandbox), LIMIT_MS)
const VARIABLE = {
  bash: (name) => ['echo ${' + name + '-default}', (done) => stdout(done)],
  r: (name) => [`Sys.getenv('${name}', unset = 'default')`, (done) => done.results[0].text.replace(/^\[1\] "(.*)"$/, '$1')],
  java: (name) => [`System.getProperty("${name}", "default")`, (done) => done.text],
  xpython: (name) => [`import os; os.environ.get('${name}', 'default')`, (done) => done.text],
}

for (const [language, variable] of Object.entries(VARIABLE)) {
  it(`${language}: variables of the sandbox, and of one execution`, async (sandbox) => {
    const get = async (name, envs) => {
      const [code, value] = variable(name)
      return value(await run(sandbox, code, { language, envs })).trim()
    }
    assert.equal(await get('TEST_ENV_VAR'), 'supertest')
    assert.equal(await get('TEST_ENV_VAR', { TEST_ENV_VAR: 'overwrite' }), 'overwrite')
    assert.equal(await get('TEST_ENV_VAR'), 'supertest')
    assert.equal(await get('FOO', { FOO: 'bar' }), 'bar')
    assert.equal(await get('FOO'), 'default')
  })
}

it('hello in every language', async (sandbox) => {
  assert.deepEqual((await run(sandbox, 'print("Hello, World!")', { language: 'r' })).logs.stdout, ['[1] "Hello, World!"\n'])
  const java = await run(sandbox, 'System.out.println("Hello, World!")', { language: 'java' })
  assert.deepEqual([java.logs.stdout[0], stdout(java)], ['Hello, World!', 'Hello, World!\n'])
  assert.equal(stdout(await run(sandbox, 'echo "Hello, World!"', { language: 'bash' })), 'Hello, World!\n')
  assert.equal(stdout(await run(sandbox, 'print("Hello, World!")', { language: 'xpython' })), 'Hello, World!\n')
})

it('the folder of a context', async (sandbox) => {
  for (const [language, code, want] of [
    ['r', 'getwd()', (folder) => `[1] "${folder}"`], ['java', 'System.getProperty("user.dir")', (folder) => folder],
    ['xpython', 'import os; os.getcwd()', (folder) => folder],
  ]) {
    assert.equal((await run(sandbox, code, { language })).text, want('/home/user'), language)
    const context = await sandbox.createCodeContext({ language, cwd: '/usr' })
    assert.equal((await run(sandbox, code, { context })).text, want('/usr'), language)
    await sandbox.removeCodeContext(context)
  }
})

it('R: state, errors, conditions, tables and plots', async (sandbox) => {
  const r = (code) => sandbox.runCode(code, { language: 'r' })
  await r('f <- function(x) stop("no ", x)')
  const failed = await r('f(1)')
  assert.deepEqual([failed.error.name, failed.error.value], ['Error', 'no 1'])
  assert.equal(stderr(await r('message("note")')), 'note\n')
  const done = await r('plot(1:3)\ndata.frame(a = 1:2)')
  assert.ok(done.results.some((result) => result.png?.startsWith('iVBOR')), 'a plot')
  assert.match(done.results.find((result) => result.isMainResult).html, /<table>/)
})

it('Java: state and errors', async (sandbox) => {
  const java = (code) => sandbox.runCode(code, { language: 'java' })
  await java('int by(int n) { return 6 / n; }')
  assert.equal((await java('by(2)')).text, '3')
  assert.deepEqual((({ name, value }) => [name, value])((await java('by(0)')).error), ['ArithmeticException', '/ by zero'])
  assert.equal((await java('int x = "a";')).error.name, 'CompilationError')
})

it('code that ends its language ends its execution, and the next has a new one', async (sandbox) => {
  for (const [language, code, status, again, want] of [
    ['bash', 'echo bye; exit 3', '3', 'echo new', 'new\n'], ['r', 'cat("bye\\n"); q(status = 3)', '3', 'cat("new\\n")', 'new\n'],
    ['java', 'System.out.println("bye"); System.exit(3);', undefined, 'System.out.println("new");', 'new\n'],
  ]) {
    const ended = await sandbox.runCode(code, { language })
    assert.deepEqual([stdout(ended), ended.error?.value], ['bye\n', status], language)
    assert.equal(stdout(await run(sandbox, again, { language })), want, language)
  }
})

it('whoever goes away interrupts', async (sandbox) => {
  for (const [language, code, after, want] of [
    ['bash', 'kept=1; sleep 300', 'echo $kept', '1'], ['r', 'kept <- 1; Sys.sleep(300)', 'cat(kept)', '1'],
    ['java', 'int kept = 1; Thread.sleep(300000);', 'System.out.print(kept);', '1'],
  ]) {
    await run(sandbox, after.replace(/\$?kept/, '0'), { language }) // it is started
    let got
    for (let timeoutMs = 1000; got !== want && timeoutMs < 100_000; timeoutMs *= 4) { // when it had got no further
      await assert.rejects(sandbox.runCode(code, { language, timeoutMs }), language)
      got = stdout(await sandbox.runCode(after, { language })).trim()
    }
    assert.equal(got, want, language)
  }
})

withInterpreter('a kernel that dies is an error, and starts again', async (sandbox) => {
  const dead = await sandbox.runCode('import os; os._exit(1)', { language: 'xpython' })
  assert.equal(dead.error.name, 'KernelDied')
  assert.equal((await run(sandbox, '1 + 1', { language: 'xpython' })).text, '2')
})
