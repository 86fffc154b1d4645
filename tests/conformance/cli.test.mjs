// The published command line, @e2b/cli.
import { Sandbox, assert, test } from './harness.mjs'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('node_modules/@e2b/cli/dist/index.js', import.meta.url))

function e2b(args, input) {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [entry, ...args], { timeout: 180_000, env: { ...process.env, NO_COLOR: '1' } },
      (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr }))
    child.stdin.end(input ?? '')
  })
}

test('list, exec, info, pause, resume, logs, kill', async (t) => {
    const sandbox = await Sandbox.create({ timeoutMs: 120_000 })
    t.after(() => sandbox.kill().catch(() => {}))
    const id = sandbox.sandboxId
    const list = await e2b(['sandbox', 'list', '--format', 'json'])
    assert.ok(list.stdout.includes(id), list.stdout + list.stderr)
    const exec = await e2b(['sandbox', 'exec', id, '--', 'sh', '-c', 'echo from the cli; exit 3'])
    assert.equal(exec.status, 3, exec.stderr)
    assert.match(exec.stdout, /from the cli/)
    const info = await e2b(['sandbox', 'info', id])
    assert.match(info.stdout, new RegExp(id))
    const pause = await e2b(['sandbox', 'pause', id])
    assert.equal(pause.status, 0, pause.stderr)
    assert.equal((await Sandbox.getInfo(id)).state, 'paused')
    const resume = await e2b(['sandbox', 'resume', id])
    assert.equal(resume.status, 0, resume.stderr)
    const logs = await e2b(['sandbox', 'logs', id])
    assert.match(logs.stdout, /from the cli/)
    const kill = await e2b(['sandbox', 'kill', id])
    assert.equal(kill.status, 0, kill.stderr)
    assert.equal(await Sandbox.kill(id), false)
  }, 120_000)

test('create and templates', async () => {
    const templates = await e2b(['template', 'list'])
    assert.match(templates.stdout, /base/)
    const made = await e2b(['sandbox', 'create', 'base', '--detach'])
    assert.equal(made.status, 0, made.stderr)
    const id = /i[a-z0-9]{20}/.exec(made.stdout + made.stderr)?.[0]
    assert.ok(id, made.stdout)
    assert.equal(await Sandbox.kill(id), true)
  }, 60_000)

test('snapshots', async (t) => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  t.after(() => sandbox.kill().catch(() => {}))
  const help = await e2b(['sandbox', 'snapshot', '--help'])
  if (help.status !== 0) return t.skip('this version has none')
  const made = await e2b(['sandbox', 'snapshot', 'create', sandbox.sandboxId])
  assert.equal(made.status, 0, made.stderr)
  const id = /[a-z0-9]{20}:default/.exec(made.stdout)?.[0]
  assert.ok(id, made.stdout)
  const list = await e2b(['sandbox', 'snapshot', 'list', '--format', 'json'])
  assert.ok(list.stdout.includes(id), list.stdout + list.stderr)
  const gone = await e2b(['sandbox', 'snapshot', 'delete', id])
  assert.equal(gone.status, 0, gone.stderr)
  assert.equal(await Sandbox.deleteSnapshot(id), false)
}, 60_000)
