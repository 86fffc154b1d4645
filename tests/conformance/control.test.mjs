// The control plane: create, list, get, kill, time-outs, errors.
import { Sandbox, api, assert, isNew, rejectsAs, sdk, test, until, withSandbox } from './harness.mjs'
import { randomUUID } from 'node:crypto'

withSandbox('a new sandbox is running, with the fields of its answer', async (sandbox) => {
  assert.match(sandbox.sandboxId, /^i[a-z0-9]{20}$/)
  assert.equal(await sandbox.isRunning(), true)
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.equal(info.state, 'running')
  assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128)
  assert.match(info.envdVersion, /^0\.6\./)
  const left = info.endAt.getTime() - Date.now()
  assert.ok(left > 100_000 && left <= 301_000, `${left} ms left`)
})

test('unknown templates are not found', () => rejectsAs(Sandbox.create('no-such-template'), 'NotFoundError').catch(
  () => rejectsAs(Sandbox.create('no-such-template'), 'SandboxError', /404/)))

test('metadata finds a sandbox, also with characters that need encoding', async (t) => {
  const value = `v&l=ü ${randomUUID()}`
  const sandbox = await Sandbox.create({ metadata: { 'a key': value }, timeoutMs: 60_000 })
  t.after(() => sandbox.kill())
  const page = await Sandbox.list({ query: { metadata: { 'a key': value } } }).nextItems()
  assert.deepEqual(page.map((s) => s.sandboxId), [sandbox.sandboxId])
  assert.equal(page[0].metadata['a key'], value)
  const none = await Sandbox.list({ query: { metadata: { 'a key': 'other' } } }).nextItems()
  assert.equal(none.length, 0)
})

test('pages follow each other without gap or repetition, newest first', async (t) => {
  const mark = randomUUID()
  const made = []
  for (let i = 0; i < 5; i++) {
    const s = await Sandbox.create({ metadata: { mark }, timeoutMs: 60_000 })
    t.after(() => s.kill())
    made.push(s.sandboxId)
  }
  const pages = Sandbox.list({ limit: 2, query: { metadata: { mark } } })
  const seen = []
  while (pages.hasNext) seen.push((await pages.nextItems()).map((s) => s.sandboxId))
  assert.deepEqual(seen.map((p) => p.length), [2, 2, 1])
  assert.deepEqual(seen.flat(), made.toReversed ? made.toReversed() : [...made].reverse())
})

test('a cursor belongs to its order, and rubbish is refused', async () => {
  const bad = await api('GET', '/v2/sandboxes?nextToken=AAAA')
  assert.equal(bad.status, 400)
  assert.equal(bad.json.code, 400)
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'order=up', 'state=flying', 'startedAfter=noon', 'metadata=%25'])
    assert.equal((await api('GET', `/v2/sandboxes?${query}`)).status, 400, query)
})

withSandbox('startedAfter is inclusive, and the list can ascend', async (sandbox) => {
  const info = (await api('GET', `/sandboxes/${sandbox.sandboxId}`)).json
  const at = encodeURIComponent(info.startedAt)
  const from = (await api('GET', `/v2/sandboxes?order=asc&startedAfter=${at}`)).json
  assert.equal(from[0].sandboxID, sandbox.sandboxId)
  const later = encodeURIComponent(new Date(Date.parse(info.startedAt) + 3_600_000).toISOString())
  assert.deepEqual((await api('GET', `/v2/sandboxes?startedAfter=${later}`)).json, [])
})

test('kill ends it, once', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  assert.equal(await sandbox.isRunning(), false)
  const gone = await api('GET', `/sandboxes/${sandbox.sandboxId}`)
  assert.equal(gone.status, 404)
  assert.match(gone.json.message, /has ended: killed by API/)
  const ended = (await api('GET', '/v2/sandboxes?state=ended')).json.find((s) => s.sandboxID === sandbox.sandboxId)
  assert.equal(ended.reason, 'killed by API')
})

test('a life ends at its time', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  const set = Date.now()
  await sandbox.setTimeout(2_000)
  await until(async () => !(await sandbox.isRunning()), 'the end of life')
  const took = Date.now() - set
  assert.ok(took >= 1_900, `${took} ms`)
  const gone = await until(async () => {
    const r = await api('GET', `/sandboxes/${sandbox.sandboxId}`)
    return r.status === 404 && r
  }, 'its end in the books')
  assert.match(gone.json.message, /timeout of 2 s/)
})

withSandbox('a time-out can be lengthened', async (sandbox) => {
  const before = Date.now()
  await sandbox.setTimeout(900_000)
  const after = Date.now()
  const end = (await sandbox.getInfo()).endAt.getTime()
  assert.ok(end >= before + 899_000 && end <= after + 901_000, `${end - before}`)
})

withSandbox('connect never shortens a life', async (sandbox) => {
  const before = (await sandbox.getInfo()).endAt.getTime()
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 5_000 })
  assert.equal(again.sandboxId, sandbox.sandboxId)
  assert.ok((await again.getInfo()).endAt.getTime() >= before - 1_000)
  const asked = Date.now()
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
  assert.ok((await again.getInfo()).endAt.getTime() >= asked + 599_000)
})

test('what is gone is not found, in the words of each SDK', async () => {
  await assert.rejects(Sandbox.connect('inosuchsandbox000000x'), /found|exist/i)
  assert.equal(await Sandbox.kill('inosuchsandbox000000x'), false)
  await assert.rejects(Sandbox.getInfo('inosuchsandbox000000x'), /found|exist/i)
})

test('a wrong key is an authentication error', () =>
  rejectsAs(Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }), 'AuthenticationError'))

test('no key at all', async () => {
  const response = await api('GET', '/sandboxes', undefined, { 'X-API-Key': '' })
  assert.equal(response.status, 401)
  assert.equal(response.json.code, 401)
})

test('version 1 and version 2 of create have their own defaults', async (t) => {
  const create = async (path, seconds) => {
    const before = Date.now()
    const r = await api('POST', path, { templateID: 'base' })
    const after = Date.now()
    assert.equal(r.status, 201)
    t.after(() => api('DELETE', `/sandboxes/${r.json.sandboxID}`))
    const end = Date.parse((await api('GET', `/sandboxes/${r.json.sandboxID}`)).json.endAt)
    assert.ok(end >= before + seconds * 1000 - 1000 && end <= after + seconds * 1000 + 1000, `${path}: ${end - before}`)
    return r
  }
  const old = await create('/sandboxes', 15)
  const young = await create('/v2/sandboxes', 300)
  assert.equal(old.json.envdAccessToken, undefined)
  assert.match(young.json.envdAccessToken, /^\S{16,}$/)
})

test('bad bodies change nothing and say what is wrong', async () => {
  const count = async () => (await api('GET', '/v2/sandboxes?limit=100')).json.length
  const before = await count()
  const cases = [
    ['', /JSON/], ['{', /JSON/], ['[]', /object/], ['{}', /templateID/], ['{"templateID":7}', /templateID/],
    ['{"templateID":"base","timeout":0}', /timeout/], ['{"templateID":"base","timeout":"5"}', /timeout/],
    ['{"templateID":"base","timeout":1.5}', /timeout/], ['{"templateID":"base","metadata":{"a":1}}', /metadata/],
    ['{"templateID":"base","envVars":[]}', /envVars/], ['{"templateID":"base","templateID":"base"}', /JSON/],
    ['{"templateID":"base","autoPauseMemory":false}', /autoPause/],
    ['{"templateID":"base","network":{"denyOut":["example.com"]}}', /denyOut/],
    ['{"templateID":"base","network":{"allowOut":["example.com"]}}', /allowOut/],
    ['{"templateID":"base","network":{"allowOut":["no such thing"]}}', /allowOut/],
    ['{"templateID":"base","network":{"maskRequestHost":"ü"}}', /maskRequestHost/],
    ['{"templateID":"base","network":{"httpsPorts":[49983]}}', /httpsPorts/],
    ['{"templateID":"base","volumeMounts":[{"name":"v","path":"relative"}]}', /volumeMounts/],
  ]
  for (const [body, pattern] of cases) {
    const r = await api('POST', '/sandboxes', body)
    assert.equal(r.status, 400, `${body}: ${r.text}`)
    assert.equal(r.json.code, 400)
    assert.match(r.json.message, pattern)
  }
  assert.equal(await count(), before)
})

withSandbox('network settings come back as they were given', async (sandbox) => {
  const network = { allowOut: ['1.1.1.1', '*.example.com'], denyOut: ['0.0.0.0/0'] }
  const r = await api('PUT', `/sandboxes/${sandbox.sandboxId}/network`, network)
  assert.equal(r.status, 204)
  let detail = (await api('GET', `/sandboxes/${sandbox.sandboxId}`)).json
  assert.deepEqual(detail.network.allowOut, network.allowOut)
  assert.deepEqual(detail.network.denyOut, network.denyOut)
  await api('PUT', `/sandboxes/${sandbox.sandboxId}/network`, {})
  detail = (await api('GET', `/sandboxes/${sandbox.sandboxId}`)).json
  assert.equal(detail.network.allowOut, undefined)
  assert.equal((await api('PUT', '/sandboxes/inosuch/network', {})).status, 404)
})

test('proxy passwords are not shown', async (t) => {
  const network = { egressProxy: { address: 'proxy.example:1080', username: 'u', password: 'secret' } }
  const made = await api('POST', '/v2/sandboxes', { templateID: 'base', network })
  t.after(() => api('DELETE', `/sandboxes/${made.json.sandboxID}`))
  const detail = await api('GET', `/sandboxes/${made.json.sandboxID}`)
  assert.equal(detail.json.network.egressProxy.username, 'u')
  assert.ok(!detail.text.includes('secret'))
})

withSandbox('samples appear, within the range asked for', async (sandbox) => {
  const samples = await until(async () => {
    const got = await sandbox.getMetrics()
    return got.length > 0 && got
  }, 'the first sample')
  const s = samples[0]
  assert.ok(s.cpuCount >= 1 && s.memTotal > 0 && s.diskTotal > 0 && s.memUsed > 0)
  const past = await api('GET', `/sandboxes/${sandbox.sandboxId}/metrics?start=1&end=2`)
  assert.deepEqual(past.json, [])
})

withSandbox('logs hold what commands printed', async (sandbox) => {
  await sandbox.commands.run('echo a line of output; echo a complaint >&2')
  const { logs, logEntries } = await until(async () => {
    const r = (await api('GET', `/sandboxes/${sandbox.sandboxId}/logs`)).json
    return r.logs.some((l) => l.line.includes('a line of output')) && r
  }, 'the line in the log')
  for (const l of logs) {
    const line = JSON.parse(l.line)
    assert.ok(line.level && line.logger)
  }
  assert.ok(logEntries.some((e) => e.message === 'a complaint' && e.fields.stream === 'stderr'))
  const found = (await api('GET', `/v2/sandboxes/${sandbox.sandboxId}/logs?search=complaint`)).json.logs
  assert.deepEqual(found.map((e) => e.message), ['a complaint'])
  assert.equal((await api('GET', '/sandboxes/inosuch/logs')).status, 404)
})

test('templates exist or not', async () => {
  assert.equal((await api('GET', '/templates/aliases/base')).status, 200)
  assert.equal((await api('GET', '/templates/aliases/base%3Adefault')).status, 200)
  assert.equal((await api('GET', '/templates/aliases/no-such')).status, 404)
  const all = (await api('GET', '/templates')).json
  const base = all.find((t) => t.aliases.includes('base'))
  for (const field of ['templateID', 'buildID', 'cpuCount', 'memoryMB', 'diskSizeMB', 'public', 'aliases', 'names', 'createdAt',
    'updatedAt', 'createdBy', 'lastSpawnedAt', 'spawnCount', 'buildCount', 'envdVersion', 'buildStatus'])
    assert.ok(field in base, field)
  const one = (await api('GET', `/templates/${base.templateID}`)).json
  assert.equal(one.builds[0].status, 'ready')
  assert.equal((await api('DELETE', `/templates/${base.templateID}`)).status, 403)
  assert.equal((await api('DELETE', '/templates/no-such')).status, 404)
  if (sdk.Template?.exists) {
    assert.equal(await sdk.Template.exists('base'), true)
    assert.equal(await sdk.Template.exists('no-such-template'), false)
  }
})

test('tags are added, listed and removed', async () => {
  const made = await api('POST', '/templates/tags', { target: 'base:default', tags: ['v1', 'stable'] })
  assert.equal(made.status, 201)
  assert.match(made.json.buildID, /^[0-9a-f-]{36}$/)
  const names = async () => (await api('GET', '/templates/base/tags')).json.map((t) => t.tag).sort()
  assert.deepEqual(await names(), ['default', 'stable', 'v1'])
  const s = await Sandbox.create('base:v1', { timeoutMs: 10_000 })
  await s.kill()
  assert.equal((await api('DELETE', '/templates/tags', { name: 'base', tags: ['v1', 'stable'] })).status, 204)
  assert.deepEqual(await names(), ['default'])
})

test('secrets are kept and never shown', async (t) => {
  const given = `S_${randomUUID()}`
  const name = given.toLowerCase()
  const made = await api('POST', '/secrets', { name: given, value: 'hidden-value', metadata: { a: 'b' } })
  assert.equal(made.status, 201)
  assert.match(made.json.secretID, /^sec_/)
  assert.equal(made.json.name, name)
  t.after(() => api('DELETE', `/secrets/${name}`))
  assert.equal(made.json.currentVersion, 1)
  assert.equal((await api('POST', '/secrets', { name, value: 'x' })).status, 409)
  const next = await api('POST', `/secrets/${name}`, { value: 'other' })
  assert.deepEqual([next.json.currentVersion, next.json.secretID], [2, made.json.secretID])
  assert.equal((await api('POST', `/secrets/${name}`, { metadata: {} })).status, 400)
  for (const bad of ['', 'a.b', 'a b', 'sec_x', 'SEC_x', 'x'.repeat(129)])
    assert.equal((await api('POST', '/secrets', { name: bad, value: 'x' })).status, 400, bad)
  for (const r of [made, next, await api('GET', `/secrets/${name}`), await api('GET', '/secrets')])
    assert.ok(!r.text.includes('hidden-value') && !r.text.includes('other"'))
  assert.equal((await api('DELETE', `/secrets/${made.json.secretID}`)).status, 204)
  assert.equal((await api('GET', `/secrets/${name}`)).status, 404)
})

test('volumes, teams, health', async () => {
  const name = `v-${randomUUID()}`
  const made = await api('POST', '/volumes', { name })
  assert.equal(made.status, 201)
  assert.ok((await api('GET', '/volumes')).json.some((v) => v.volumeID === made.json.volumeID))
  assert.equal((await api('DELETE', `/volumes/${made.json.volumeID}`)).status, 204)
  assert.equal((await api('GET', `/volumes/${made.json.volumeID}`)).status, 404)
  assert.equal((await api('GET', '/teams')).json[0].isDefault, true)
  assert.ok([200, 204].includes((await api('GET', '/health')).status))
})

withSandbox('what is not there is said, and is not a sandbox that is gone', async (sandbox) => {
  assert.equal((await api('POST', '/v3/templates', { name: 'mine' })).status, 501)
  assert.equal(await sandbox.isRunning(), true)
})

test('unknown routes and methods have the error form', async () => {
  for (const [method, path] of [['GET', '/no/such/thing'], ['PATCH', '/sandboxes'], ['GET', '/']]) {
    const r = await api(method, path)
    assert.ok(r.status === 404 || r.status === 405, `${path}: ${r.status}`)
    assert.equal(r.json.code, r.status)
  }
})

if (isNew)
  test('browsers may ask', async () => {
    const r = await fetch(process.env.E2B_API_URL + '/sandboxes', {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-api-key' },
    })
    assert.equal(r.status, 204)
    assert.equal(r.headers.get('access-control-allow-origin'), '*')
  })
