// Snapshots and forks: copies of files that become sandboxes.
import { Sandbox, api, assert, rejectsAs, test, withSandbox } from './harness.mjs'
import { randomUUID } from 'node:crypto'

const short = { timeoutMs: 60_000 }

/** A sandbox of it for the length of a test. */
async function from(t, template, options = {}) {
  const sandbox = await Sandbox.create(template, { ...short, ...options })
  t.after(() => sandbox.kill().catch(() => {}))
  return sandbox
}

async function snapshotOf(t, sandbox, options) {
  const made = await sandbox.createSnapshot(options)
  t.after(() => Sandbox.deleteSnapshot(made.snapshotId).catch(() => {}))
  return made
}

withSandbox('a snapshot has the files, and nothing runs', async (sandbox, t) => {
  await sandbox.files.makeDir('/home/user/tree/deep')
  await sandbox.files.write('/home/user/tree/deep/file', 'as it was')
  await sandbox.commands.run('ln -s deep/file /home/user/tree/link; chmod 700 /home/user/tree/deep')
  const sleeper = await sandbox.commands.run('sleep 600', { background: true })
  const { snapshotId } = await snapshotOf(t, sandbox)
  assert.match(snapshotId, /^[a-z0-9]+:default$/)
  assert.ok((await sandbox.commands.list()).some((p) => p.pid === sleeper.pid))
  await sandbox.files.write('/home/user/tree/deep/file', 'changed since')
  const copy = await from(t, snapshotId)
  assert.equal(await copy.files.read('/home/user/tree/link'), 'as it was')
  assert.equal((await copy.commands.run('stat -c %a:%U /home/user/tree/deep')).stdout, '700:user\n')
  assert.deepEqual(await copy.commands.list(), [])
  await copy.files.write('/home/user/tree/deep/file', 'mine')
  assert.equal(await sandbox.files.read('/home/user/tree/link'), 'changed since')
  assert.equal((await copy.getInfo()).templateId, snapshotId.split(':')[0])
})

withSandbox('it outlives its source, and is the same for everybody', async (sandbox, t) => {
  await sandbox.files.write('/tmp/shared', 'shared')
  const { snapshotId } = await snapshotOf(t, sandbox)
  await sandbox.kill()
  const copies = await Promise.all([1, 2, 3].map(() => from(t, snapshotId)))
  for (const copy of copies) assert.equal(await copy.files.read('/tmp/shared'), 'shared')
})

withSandbox('environment: the source below what a create says', async (sandbox, t) => {
  const copy = await from(t, (await snapshotOf(t, sandbox)).snapshotId, { envs: { B: 'own' } })
  assert.equal((await copy.commands.run('echo $A $B')).stdout, 'kept own\n')
}, { envs: { A: 'kept', B: 'lost' } })

withSandbox('names are found, rebuilt and tagged', async (sandbox, t) => {
  const name = `snap-${randomUUID()}`
  await sandbox.files.write('/tmp/v', 'one')
  const first = await snapshotOf(t, sandbox, { name })
  assert.ok(first.names.some((n) => n.includes(name)))
  assert.ok(first.snapshotId.endsWith(`${name}:default`))
  const tagged = await snapshotOf(t, sandbox, { name: `${name}:stable` })
  await sandbox.files.write('/tmp/v', 'two')
  assert.equal((await sandbox.createSnapshot({ name })).snapshotId, first.snapshotId)
  assert.equal(await (await from(t, name)).files.read('/tmp/v'), 'two')
  assert.equal(await (await from(t, tagged.snapshotId)).files.read('/tmp/v'), 'one')
  const { json } = await api('GET', `/snapshots?name=${name}`)
  assert.deepEqual(json.map((s) => s.snapshotID).sort(), [first.snapshotId, tagged.snapshotId].sort())
  assert.equal((await api('GET', `/templates/aliases/${encodeURIComponent(first.snapshotId)}`)).status, 200)
  const { json: template } = await api('GET', `/templates/${encodeURIComponent(first.snapshotId)}`)
  assert.equal(template.builds.length, 2)
  assert.ok(!(await api('GET', '/templates')).json.some((x) => x.templateID === template.templateID))
})

withSandbox('lists: all, of one sandbox, page by page', async (sandbox, t) => {
  const ids = []
  for (let i = 0; i < 3; i++) ids.unshift((await snapshotOf(t, sandbox)).snapshotId)
  const all = await Sandbox.listSnapshots().nextItems()
  for (const id of ids) assert.ok(all.some((s) => s.snapshotId === id))
  const own = sandbox.listSnapshots({ limit: 2 })
  const found = []
  while (own.hasNext) found.push(...(await own.nextItems()))
  assert.deepEqual(found.map((s) => s.snapshotId), ids)
  assert.deepEqual((await api('GET', `/snapshots?name=${randomUUID()}`)).json, [])
})

withSandbox('deleting: once, and not while somebody lives on it', async (sandbox, t) => {
  const { snapshotId } = await snapshotOf(t, sandbox)
  const copy = await from(t, snapshotId)
  const refused = await api('DELETE', `/templates/${encodeURIComponent(snapshotId)}`)
  assert.deepEqual([refused.status, refused.json.code], [400, 400])
  await copy.kill()
  assert.equal(await Sandbox.deleteSnapshot(snapshotId), true)
  assert.equal(await Sandbox.deleteSnapshot(snapshotId), false)
  await rejectsAs(Sandbox.create(snapshotId, short), 'SandboxError', /not found/)
})

withSandbox('refusals say why', async (sandbox) => {
  const path = `/sandboxes/${sandbox.sandboxId}/snapshots`
  for (const [name, status] of [['no name', 400], ['a/b/c', 400], ['', 400], ['base', 409], [7, 400]]) {
    const r = await api('POST', path, { name })
    assert.deepEqual([r.status, r.json.code], [status, status], String(name))
  }
  await sandbox.pause()
  assert.match((await api('POST', path, {})).json.message, /resume it first/)
  assert.equal((await api('POST', `/sandboxes/${sandbox.sandboxId}/fork`, {})).status, 409)
  await rejectsAs(Sandbox.createSnapshot('i' + '0'.repeat(20)), 'SandboxNotFoundError')
})

withSandbox('forks go their own ways', async (sandbox, t) => {
  await sandbox.files.write('/home/user/state', 'common')
  const forks = await sandbox.fork({ count: 3, timeoutMs: 60_000 })
  assert.equal(forks.length, 3)
  for (const fork of forks) {
    assert.ok(fork instanceof Sandbox, String(fork))
    t.after(() => fork.kill().catch(() => {}))
  }
  assert.equal(new Set([sandbox, ...forks].map((s) => s.sandboxId)).size, 4)
  await forks[0].files.write('/home/user/state', 'changed')
  assert.equal(await forks[1].files.read('/home/user/state'), 'common')
  assert.equal(await sandbox.files.read('/home/user/state'), 'common')
  assert.equal((await forks[2].commands.run('echo $A')).stdout, '1\n')
  const [mine, its] = await Promise.all([sandbox.getInfo(), forks[0].getInfo()])
  assert.deepEqual([its.metadata, its.templateId], [mine.metadata, mine.templateId])
  const left = its.endAt - Date.now()
  assert.ok(left > 20_000 && left <= 60_000, `${left} ms`)
  assert.equal(await sandbox.isRunning(), true)
}, { envs: { A: '1' }, metadata: { of: 'forks' } })

test('forks of what is not there', async () => {
  const sandbox = await Sandbox.create('base', short)
  await sandbox.kill()
  await rejectsAs(sandbox.fork(), 'SandboxNotFoundError')
  await rejectsAs(Sandbox.fork('i' + '0'.repeat(20)), 'SandboxNotFoundError')
})

withSandbox('how many forks, for how long', async (sandbox) => {
  const path = `/sandboxes/${sandbox.sandboxId}/fork`
  for (const body of [{ count: 0 }, { count: 101 }, { count: 1.5 }, { timeout: -1 }, { timeout: 'x' }, { timeout: 1e9 }])
    assert.equal((await api('POST', path, body)).status, 400, JSON.stringify(body))
  const r = await api('POST', path, { timeout: 60 })
  assert.equal(r.status, 201)
  assert.equal(r.json.length, 1)
  assert.match(r.json[0].sandbox.sandboxID, /^[a-z0-9]+$/)
  assert.equal(await Sandbox.kill(r.json[0].sandbox.sandboxID), true)
})
