// process.Process through the SDK: commands, input, signals, reconnects, time limits, terminals.
import { Sandbox, assert, rejectsAs, sandboxFetch, test, until, withSandbox } from './harness.mjs'

withSandbox('output, errors and exit status are exact', async (sandbox) => {
  const r = await sandbox.commands.run('echo out; echo err >&2; printf "no newline"')
  assert.deepEqual([r.exitCode, r.stdout, r.stderr], [0, 'out\nno newline', 'err\n'])
  await assert.rejects(sandbox.commands.run('echo x; exit 3'), (e) => {
    assert.deepEqual([e.constructor.name, e.exitCode, e.stdout], ['CommandExitError', 3, 'x\n'])
    return true
  })
})

withSandbox('there is a python, as in sandboxes of E2B', async (sandbox) => {
  for (const user of ['user', 'root'])
    assert.equal((await sandbox.commands.run(`python -c 'import sys; print(sys.version_info[0])'`, { user })).stdout, '3\n')
  const code = await sandbox.commands.run(`printf '#!/usr/bin/env python\nprint(7)' >run; chmod +x run; ./run`)
  assert.equal(code.stdout, '7\n')
})

withSandbox('special characters, unicode and many lines survive', async (sandbox) => {
  const text = `!@#$%^&*()_+-=[]{}|;:",.<>/?~\`äöü€😀`
  const r = await sandbox.commands.run(`cat <<'EOF'\n${text}\nEOF`)
  assert.equal(r.stdout, text + '\n')
  const many = await sandbox.commands.run('seq 1 20000')
  assert.equal(many.stdout, Array.from({ length: 20000 }, (_, i) => `${i + 1}\n`).join(''))
})

withSandbox('binary megabytes arrive whole', async (sandbox) => {
  let bytes = 0
  await sandbox.commands.run('head -c 8000000 /dev/zero | tr "\\0" a', { onStdout: (d) => { bytes += d.length } })
  assert.equal(bytes, 8_000_000)
})

withSandbox('user, directory and environment', async (sandbox) => {
  const run = async (cmd, options) => (await sandbox.commands.run(cmd, options)).stdout.trim()
  assert.equal(await run('whoami'), 'user')
  assert.equal(await run('pwd'), '/home/user')
  assert.equal(await run('echo $HOME $USER $LOGNAME'), '/home/user user user')
  assert.equal(await run('whoami; echo $HOME; pwd', { user: 'root' }), 'root\n/root\n/root')
  assert.equal(await run('pwd', { cwd: '/tmp' }), '/tmp')
  await run('mkdir -p below')
  assert.equal(await run('pwd', { cwd: 'below' }), '/home/user/below')
  assert.equal(await run('pwd', { cwd: '~/below' }), '/home/user/below')
  assert.equal(await run('echo $A', { envs: { A: 'b c' } }), 'b c')
  assert.equal(await run('echo $E2B_SANDBOX $E2B_SANDBOX_ID'), `true ${sandbox.sandboxId}`)
  assert.equal(await run('sudo whoami'), 'root')
})

withSandbox('variables of the sandbox, and a command over them', async (sandbox) => {
  const run = async (cmd, options) => (await sandbox.commands.run(cmd, options)).stdout.trim()
  assert.equal(await run('echo $FOO $BAR'), 'bar 1')
  assert.equal(await run('echo $FOO', { envs: { FOO: 'mine' } }), 'mine')
  assert.equal(await run('echo $FOO'), 'bar')
}, { envs: { FOO: 'bar', BAR: '1' } })

withSandbox('what cannot start says why', async (sandbox) => {
  await rejectsAs(sandbox.commands.run('true', { user: 'nobody-such' }), 'AuthenticationError', /invalid username: 'nobody-such'/)
  await rejectsAs(sandbox.commands.run('true', { cwd: '/no/such/dir' }), 'InvalidArgumentError', /no\/such\/dir/)
})

withSandbox('a time limit ends the command', async (sandbox) => {
  await rejectsAs(sandbox.commands.run('sleep 10000', { timeoutMs: 1_000 }), 'TimeoutError') // longer than a test may take
  await until(async () => (await sandbox.commands.list()).length === 0, 'the end of the process')
})

withSandbox('background, list, signals, and dead processes are gone', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 100', { background: true })
  assert.ok(command.pid > 1)
  assert.equal((await sandbox.commands.run(`kill -0 ${command.pid}`)).exitCode, 0)
  const [listed] = await sandbox.commands.list()
  assert.deepEqual([listed.pid, listed.cmd, listed.args], [command.pid, '/bin/bash', ['-l', '-c', 'sleep 100']])
  assert.equal(await sandbox.commands.kill(command.pid), true)
  await assert.rejects(command.wait(), /signal: killed/)
  await assert.rejects(sandbox.commands.run(`kill -0 ${command.pid}`))
  assert.equal(await sandbox.commands.kill(command.pid), false)
  assert.equal((await sandbox.commands.list()).length, 0)
})

withSandbox('the whole group dies with a killed command', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 4711 & sleep 4712 & wait', { background: true })
  await until(async () => (await sandbox.commands.run('pgrep -c -f "sleep 471[12]" || true')).stdout.trim() !== '0', 'the children')
  await command.kill()
  await until(async () => (await sandbox.commands.run('ps ax | grep -c "sleep 471[12]" || true')).stdout.trim() === '0', 'their end')
})

withSandbox('standard input: lines, empty text, closing', async (sandbox) => {
  let out = ''
  const cat = await sandbox.commands.run('cat', { background: true, stdin: true, onStdout: (d) => { out += d } })
  await sandbox.commands.sendStdin(cat.pid, 'one\n')
  await sandbox.commands.sendStdin(cat.pid, '')
  await sandbox.commands.sendStdin(cat.pid, 'zwei ü')
  await until(() => out === 'one\nzwei ü', 'the echo')
  if (sandbox.commands.closeStdin) {
    await sandbox.commands.closeStdin(cat.pid)
    assert.equal((await cat.wait()).exitCode, 0)
    await assert.rejects(sandbox.commands.sendStdin(cat.pid, 'late'))
  } else {
    await cat.kill()
  }
})

withSandbox('without stdin there is nothing to read', async (sandbox) => {
  assert.equal((await sandbox.commands.run('cat; echo done')).stdout, 'done\n')
})

withSandbox('big input through a pipe is not lost', async (sandbox) => {
  const counter = await sandbox.commands.run('head -c 3000000 | sha256sum', { background: true, stdin: true })
  const piece = 'x'.repeat(300_000)
  for (let i = 0; i < 10; i++) await sandbox.commands.sendStdin(counter.pid, piece)
  const { createHash } = await import('node:crypto')
  const want = createHash('sha256').update('x'.repeat(3_000_000)).digest('hex')
  assert.equal((await counter.wait()).stdout.split(' ')[0], want)
})

withSandbox('a second client follows a running command, a late one learns its end', async (sandbox) => {
  const first = await sandbox.commands.run('while [ ! -e /tmp/go ]; do sleep 0.02; done; for i in 1 2 3 4 5 6; do echo tick $i; done; exit 7',
    { background: true })
  let seen = ''
  const second = await sandbox.commands.connect(first.pid, { onStdout: (d) => { seen += d } })
  assert.equal(second.pid, first.pid)
  await sandbox.files.write('/tmp/go', '')
  await assert.rejects(second.wait(), (e) => e.exitCode === 7)
  assert.match(seen, /tick 6/)
  const late = await sandbox.commands.connect(first.pid)
  await assert.rejects(late.wait(), (e) => e.exitCode === 7)
  await assert.rejects(sandbox.commands.connect(99999), /not.?found|no such process/i)
})

withSandbox('a command survives its client', async (sandbox) => {
  const command = await sandbox.commands.run('sleep 1; echo survived > /tmp/proof', { background: true, timeoutMs: 0 })
  await command.disconnect()
  await until(() => sandbox.files.exists('/tmp/proof'), 'the proof')
})

withSandbox('a program left in the background does not hold the stream', async (sandbox) => {
  const r = await sandbox.commands.run('sleep 10000 & echo started')
  assert.equal(r.stdout, 'started\n')
})

test('a killed sandbox says so to a running command', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  const command = await sandbox.commands.run('sleep 60', { background: true })
  await sandbox.kill()
  await rejectsAs(command.wait(), 'TimeoutError', /killed|end of life|sandbox/i)
  assert.equal(await sandbox.isRunning(), false)
})

withSandbox('output in the middle of a long command arrives at once', async (sandbox) => {
  // It waits for a file that is written when its first line has arrived.
  let written
  const done = await sandbox.commands.run('echo a; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo b',
    { onStdout: () => { written ??= sandbox.files.write('/tmp/go', '') } })
  await written
  assert.equal(done.stdout, 'a\nb\n')
})

withSandbox('many commands at once', async (sandbox) => {
  const results = await Promise.all(Array.from({ length: 30 }, (_, i) => sandbox.commands.run(`sleep 0.1; echo ${i}`)))
  assert.deepEqual(results.map((r) => r.stdout.trim()), Array.from({ length: 30 }, (_, i) => String(i)))
})

// ---- terminals ----

const decode = (data) => new TextDecoder().decode(data)

withSandbox('a terminal echoes, has a size, and ends', async (sandbox) => {
  let out = ''
  const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData: (d) => { out += decode(d) }, envs: { ABC: '123' } })
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('echo value=$ABC; tput cols; tty\n'))
  await until(() => /value=123/.test(out) && /80/.test(out) && /\/dev\/pts\//.test(out), 'the answers')
  await sandbox.pty.resize(pty.pid, { cols: 100, rows: 30 })
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size\n'))
  await until(() => /30 100/.test(out), 'the new size')
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('exit 4\n'))
  await assert.rejects(pty.wait(), (e) => e.exitCode === 4)
})

withSandbox('a terminal can be joined and killed', async (sandbox) => {
  let seen = ''
  const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  if (sandbox.pty.connect) {
    await sandbox.pty.connect(pty.pid, { onData: (d) => { seen += decode(d) } })
    await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('echo jo""ined\n'))
    await until(() => /joined/.test(seen), 'the other view')
  }
  assert.equal(await sandbox.pty.kill(pty.pid), true)
  await assert.rejects(pty.wait())
  assert.equal(await sandbox.pty.kill(pty.pid), false)
})

withSandbox('Ctrl-C reaches the program in front', async (sandbox) => {
  let out = ''
  const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData: (d) => { out += decode(d) } })
  const type = (text) => sandbox.pty.sendInput(pty.pid, new TextEncoder().encode(text))
  await type('sleep 1000\n')
  await until(async () => (await sandbox.commands.run('pgrep -x sleep || true')).stdout !== '', 'the program')
  await type('\x03')
  await type('echo al""ive\n')
  await until(() => /alive/.test(out), 'the prompt')
  await sandbox.pty.kill(pty.pid)
})

// ---- the protocol itself ----

const call = (sandbox, method, body, headers = {}) => sandboxFetch(sandbox, 49983, `/process.Process/${method}`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1',
    'X-Access-Token': sandbox.envdAccessToken ?? sandbox['envdAccessToken'] ?? '', ...headers },
  body,
})

withSandbox('unary errors have the form of Connect', async (sandbox) => {
  const token = (await Sandbox.connect(sandbox.sandboxId)).envdAccessToken
  const headers = token ? { 'X-Access-Token': token } : {}
  for (const [method, body, status, code] of [
    ['SendSignal', '{"process":{"pid":99999},"signal":"SIGNAL_SIGKILL"}', 404, 'not_found'],
    ['NoSuchMethod', '{}', 404, 'unimplemented'],
    ['List', 'not json', 400, 'invalid_argument'],
    ['SendInput', '{"process":{"pid":99999}}', 404, 'not_found'],
  ]) {
    const r = await call(sandbox, method, body, headers)
    assert.equal(r.status, status, method)
    assert.equal((await r.json()).code, code)
  }
}, { secure: false })

withSandbox('a wrong access token is refused', async (sandbox) => {
  const r = await call(sandbox, 'List', '{}', { 'X-Access-Token': 'wrong' })
  assert.equal(r.status, 401)
  assert.equal((await r.json()).code, 401)
}, { secure: true })
