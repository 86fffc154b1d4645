// Contexts of the code interpreter, their languages, directories and variables.
import { Sandbox, SDK, assert, rejectsAs, sandboxFetch, test } from './harness.mjs'
import { LIMIT_MS, run, sharedSandbox, stdout, withInterpreter } from './interpreter.mjs'

const shared = sharedSandbox()
const it = (name, fn) => test(name, () => fn(shared.sandbox), LIMIT_MS)

withInterpreter('the default contexts are listed, new ones come last', async (sandbox) => {
  const languages = (await sandbox.listCodeContexts()).map((c) => c.language)
  assert.ok(languages.includes('python') && languages.includes('javascript'), String(languages))
  const made = await sandbox.createCodeContext()
  assert.match(made.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.deepEqual([made.language, made.cwd], ['python', '/home/user'])
  assert.deepEqual((await sandbox.listCodeContexts()).at(-1), made)
  await sandbox.removeCodeContext(made)
  assert.ok(!(await sandbox.listCodeContexts()).some((c) => c.id === made.id))
})

it('contexts know nothing of each other', async (sandbox) => {
  await run(sandbox, 'apart = 1')
  const context = await sandbox.createCodeContext()
  const { error } = await sandbox.runCode('apart', { context })
  assert.deepEqual([error.name, error.value], ['NameError', "name 'apart' is not defined"])
  await run(sandbox, 'apart = 2', { context })
  assert.equal((await run(sandbox, 'apart')).text, '1')
  assert.equal((await run(sandbox, 'apart', { context })).text, '2')
  await sandbox.removeCodeContext(context.id)
})

it('a restarted context has forgotten all but its place', async (sandbox) => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  await run(sandbox, 'x = 1', { context })
  await sandbox.restartCodeContext(context.id)
  const { error } = await sandbox.runCode('x', { context })
  assert.deepEqual([error.name, error.value], ['NameError', "name 'x' is not defined"])
  assert.equal((await run(sandbox, 'import os; os.getcwd()', { context })).text, '/tmp')
  await sandbox.removeCodeContext(context)
})

it('what is not there is not found', async (sandbox) => {
  const gone = await sandbox.createCodeContext()
  await sandbox.removeCodeContext(gone)
  const text = new RegExp(`Context ${gone.id} not found`)
  await rejectsAs(sandbox.runCode('1', { context: gone }), 'NotFoundError', text)
  await rejectsAs(sandbox.removeCodeContext(gone), 'NotFoundError', text)
  await rejectsAs(sandbox.restartCodeContext(gone), 'NotFoundError', text)
  await rejectsAs(sandbox.runCode('1', { context: gone, language: 'python' }), 'InvalidArgumentError', /both/)
  const body = JSON.stringify({ code: '1', language: 'python', context_id: gone.id })
  const both = await sandboxFetch(sandbox, 49999, '/execute', {
    method: 'POST', body, headers: { 'Content-Type': 'application/json', ...tokens(sandbox) },
  })
  assert.equal(both.status, 400)
})

function tokens(sandbox) {
  return {
    ...(sandbox.envdAccessToken ? { 'X-Access-Token': sandbox.envdAccessToken } : {}),
    ...(sandbox.trafficAccessToken ? { 'E2B-Traffic-Access-Token': sandbox.trafficAccessToken } : {}),
  }
}

it('contexts work at the same time, executions of one wait for each other', async (sandbox) => {
  // Each waits for the other: they end only if they run together.
  const meet = (mine, other) => `
import os, time
open("/tmp/${mine}", "w").close()
while not os.path.exists("/tmp/${other}"): time.sleep(0.01)
"met"`
  const context = await sandbox.createCodeContext()
  const both = await Promise.all([run(sandbox, meet('a', 'b')), run(sandbox, meet('b', 'a'), { context })])
  assert.deepEqual(both.map((d) => d.text), ['met', 'met'])
  await run(sandbox, 'steps = []', { context })
  const step = (i) => run(sandbox, `steps.append("in"); time.sleep(0.02); steps.append("out"); ${i}`, { context })
  assert.deepEqual((await Promise.all([0, 1, 2, 3, 4].map(step))).map((d) => d.text), ['0', '1', '2', '3', '4'])
  assert.equal((await run(sandbox, 'steps == ["in", "out"] * 5', { context })).text, 'True')
  await sandbox.removeCodeContext(context)
})

it('working directories', async (sandbox) => {
  assert.equal(stdout(await run(sandbox, 'from pathlib import Path; print(Path.cwd())', { language: 'python' })), '/home/user\n')
  assert.equal((await run(sandbox, 'process.cwd()', { language: 'js' })).text, '/home/user')
  assert.equal((await run(sandbox, 'process.cwd()', { language: 'ts' })).text, '/home/user')
  assert.equal(stdout(await run(sandbox, 'pwd', { language: 'bash' })), '/home/user\n')
  for (const [language, code] of [['python', 'import os; print(os.getcwd())'], ['bash', 'pwd'], ['javascript', 'console.log(process.cwd())']]) {
    const context = await sandbox.createCodeContext({ language, cwd: '/tmp' })
    assert.deepEqual([context.language, context.cwd], [language, '/tmp'])
    assert.equal(stdout(await run(sandbox, code, { context })), '/tmp\n', language)
    await sandbox.removeCodeContext(context)
  }
  const root = await sandbox.createCodeContext({ cwd: '/root' })
  assert.equal(root.cwd, '/root')
  assert.equal((await run(sandbox, 'import os; os.getcwd(), os.getuid()', { context: root })).text, "('/root', 0)")
  await sandbox.removeCodeContext(root)
})

it('JavaScript: state, output, values, imports, await', async (sandbox) => {
  const js = (code) => run(sandbox, code, { language: 'js' })
  const hello = await js('console.log("Hello World!")')
  assert.deepEqual(hello.logs.stdout, ['Hello World!\n'])
  await js('let kept = 1; const fixed = 2; function twice(x) { return 2 * x }')
  assert.equal((await js('kept += 1; twice(kept) + fixed')).text, '6')
  assert.deepEqual((await js("import { readFileSync } from 'fs'\nconsole.log(typeof readFileSync)")).logs.stdout, ['function\n'])
  assert.equal((await js("await Promise.resolve('Hello World!')")).text, 'Hello World!')
  const { error } = await sandbox.runCode('throw new TypeError("mine")', { language: 'javascript' })
  assert.deepEqual([error.name, error.value], ['TypeError', 'mine'])
  assert.match(error.traceback, /mine/)
  assert.equal((await js('kept')).text, '2')
})

it('TypeScript, which shares its context with JavaScript', async (sandbox) => {
  const done = await run(sandbox, 'const message: string = "Hello World!"; console.log(message)', { language: 'ts' })
  assert.deepEqual(done.logs.stdout, ['Hello World!\n'])
  await run(sandbox, 'interface P { x: number }\nconst p: P = { x: 3 }; var fromTs = (q: P): number => q.x', { language: 'typescript' })
  assert.equal((await run(sandbox, 'fromTs(p)', { language: 'javascript' })).text, '3')
})

it('Bash: variables, functions, directories, exit status', async (sandbox) => {
  const bash = (code) => sandbox.runCode(code, { language: 'bash' })
  await bash('x=5; double() { echo $(($1 * 2)); }; cd /tmp')
  assert.equal(stdout(await bash('double $x; pwd')), '10\n/tmp\n')
  const failed = await bash('echo before; ls /no/such/file')
  assert.equal(stdout(failed), 'before\n')
  assert.match(failed.logs.stderr.join(''), /no\/such\/file/)
  assert.equal(stdout(await bash('echo alive; cd')), 'alive\n')
})

it('languages by other spellings, and one that is not there', async (sandbox) => {
  assert.equal((await run(sandbox, '1 + 1', { language: ' Python ' })).text, '2')
  assert.equal((await run(sandbox, '1 + 1', { language: 'JS' })).text, '2')
  const unknown = await sandbox.runCode('1', { language: 'no-such-kernel' }).catch((e) => ({ error: { name: e.name, value: e.message } }))
  assert.ok(unknown.error, 'an error')
})

it('R and Java work, or say what to install', async (sandbox) => {
  for (const [language, code, text] of [['r', 'x <- 20; x + 1', /\[1\] 21/], ['java', 'int x = 20; x + 1', /21/]]) {
    const done = await sandbox.runCode(code, { language })
    if (done.error) assert.match(done.error.value, /install|apt/i, `${language}: ${done.error.name}: ${done.error.value}`)
    else assert.match(done.text ?? stdout(done), text)
  }
})

const shows = { python: (n) => `import os; print(os.environ.get("${n}", "unset"))`,
  javascript: (n) => `console.log(process.env.${n} ?? "unset")`, bash: (n) => `echo \${${n}-unset}` }

withInterpreter('variables of the sandbox, of an execution, and of neither', async (sandbox) => {
  for (const [language, show] of Object.entries(shows)) {
    const shown = async (name, envs) => stdout(await run(sandbox, show(name), { language, envs })).trim()
    assert.equal(await shown('GLOBAL_ONE'), 'from sandbox', language)
    assert.equal(await shown('GLOBAL_ONE', { GLOBAL_ONE: 'for now' }), 'for now', language)
    assert.equal(await shown('GLOBAL_ONE'), 'from sandbox', language)
    assert.equal(await shown('LOCAL_ONE', { LOCAL_ONE: 'ü = "x"' }), 'ü = "x"', language)
    assert.equal(await shown('LOCAL_ONE'), 'unset', language)
  }
}, { envs: { GLOBAL_ONE: 'from sandbox' } })

withInterpreter('a sandbox with closed ports is open to who has the tokens', async (sandbox) => {
  assert.equal((await run(sandbox, '1 + 1')).text, '2')
  const made = await sandbox.createCodeContext()
  assert.ok((await sandbox.listCodeContexts()).some((c) => c.id === made.id))
  await sandbox.restartCodeContext(made)
  await sandbox.removeCodeContext(made)
  for (const [method, path] of [['POST', '/execute'], ['GET', '/contexts']]) {
    const refused = await sandboxFetch(sandbox, 49999, path, { method, body: method === 'POST' ? '{"code":"1"}' : undefined })
    assert.ok([401, 403].includes(refused.status), `${method} ${path}: ${refused.status}`)
  }
}, { network: { allowPublicTraffic: false } })

it('health', async (sandbox) => {
  assert.equal((await sandboxFetch(sandbox, 49999, '/health', { headers: tokens(sandbox) })).status, 200)
})

test('the SDK under test is one of the code interpreter', () => {
  assert.ok(SDK.includes('code-interpreter') && typeof Sandbox.prototype.runCode === 'function', SDK)
})
