// Files through the SDK: reading, writing, listing, moving, watching, signatures.
import { Sandbox, api, assert, isNew, rejectsAs, sandboxFetch, test, until, withSandbox } from './harness.mjs'
import { gzipSync } from 'node:zlib'
import { createHash, randomBytes } from 'node:crypto'

withSandbox('what is written is read, in every form', async (sandbox) => {
  const info = await sandbox.files.write('a file.txt', 'Hällo')
  assert.deepEqual([info.path, info.name, info.type], ['/home/user/a file.txt', 'a file.txt', 'file'])
  assert.equal(await sandbox.files.read('a file.txt'), 'Hällo')
  assert.deepEqual(await sandbox.files.read('a file.txt', { format: 'bytes' }), new TextEncoder().encode('Hällo'))
  assert.equal(await (await sandbox.files.read('a file.txt', { format: 'blob' })).text(), 'Hällo')
  let streamed = ''
  for await (const piece of await sandbox.files.read('a file.txt', { format: 'stream' })) streamed += Buffer.from(piece).toString()
  assert.equal(streamed, 'Hällo')
})

withSandbox('empty files, in every form', async (sandbox) => {
  await sandbox.files.write('empty', '')
  assert.equal(await sandbox.files.read('empty'), '')
  assert.equal((await sandbox.files.read('empty', { format: 'bytes' })).length, 0)
  assert.equal((await sandbox.files.getInfo('empty')).size, 0)
})

withSandbox('files of /proc have content, though no size', async (sandbox) => {
  const id = await sandbox.files.read('/proc/sys/kernel/random/boot_id')
  assert.match(id, /^[0-9a-f-]{36}\n$/)
  assert.equal((await sandbox.commands.run('cat /proc/sys/kernel/random/boot_id')).stdout, id)
  assert.match(await sandbox.files.read('/proc/1/status'), /^Name:/)
  if (isNew) return // its sandboxes want a token of whoever asks without the SDK
  const answer = await sandboxFetch(sandbox, 49983, '/files?path=/proc/version', { headers: { 'accept-encoding': 'gzip, identity;q=0' } })
  assert.equal(answer.headers.get('content-encoding'), 'gzip')
  assert.match(await answer.text(), /^Linux version/)
  assert.equal((await sandboxFetch(sandbox, 49983, '/files?path=/proc/version', { method: 'HEAD' })).status, 200)
}, { secure: false })

withSandbox('writing replaces, and makes the directories above', async (sandbox) => {
  await sandbox.files.write('/tmp/deep/er/file', 'a longer content')
  await sandbox.files.write('/tmp/deep/er/file', 'short')
  assert.equal(await sandbox.files.read('/tmp/deep/er/file'), 'short')
  const owner = (await sandbox.commands.run('stat -c "%U:%G %a" /tmp/deep /tmp/deep/er/file')).stdout
  assert.equal(owner, 'user:user 755\nuser:user 644\n')
})

withSandbox('several files in one request, in their order', async (sandbox) => {
  const files = [{ path: 'one', data: '1' }, { path: 'dir/two', data: new TextEncoder().encode('2').buffer }, { path: '/tmp/three', data: '' }]
  const infos = await sandbox.files.write(files)
  assert.deepEqual(infos.map((i) => i.path), ['/home/user/one', '/home/user/dir/two', '/tmp/three'])
  assert.equal(await sandbox.files.read('dir/two'), '2')
  assert.equal(await sandbox.files.read('/tmp/three'), '')
})

withSandbox('megabytes of noise survive both ways', async (sandbox) => {
  const data = randomBytes(12_345_678)
  await sandbox.files.write('/tmp/noise', data.buffer.slice(data.byteOffset, data.byteOffset + data.length))
  const sum = createHash('sha256').update(data).digest('hex')
  assert.equal((await sandbox.commands.run('sha256sum < /tmp/noise')).stdout.split(' ')[0], sum)
  const back = await sandbox.files.read('/tmp/noise', { format: 'bytes' })
  assert.equal(createHash('sha256').update(back).digest('hex'), sum)
})

withSandbox('files of another user', async (sandbox) => {
  const info = await sandbox.files.write('rooted', 'x', { user: 'root' })
  assert.equal(info.path, '/root/rooted')
  assert.equal((await sandbox.files.getInfo('rooted', { user: 'root' })).owner, 'root')
  await assert.rejects(sandbox.files.write('x', 'x', { user: 'nobody-such' }), /invalid username|401|user/i)
})

withSandbox('what cannot be read says why', async (sandbox) => {
  await assert.rejects(sandbox.files.read('no-such-file'), /NotFound|not.?found|does not exist|no such/i)
  await assert.rejects(sandbox.files.read('/tmp'), /directory/)
  await assert.rejects(sandbox.files.write('/tmp', 'x'), /directory/)
})

withSandbox('entries tell type, size, mode, owner, time and target', async (sandbox) => {
  await sandbox.commands.run('mkdir d; printf 12345 > d/f; chmod 640 d/f; ln -s d/f link; ln -s nowhere dangling; ln -s d dirlink')
  const f = await sandbox.files.getInfo('d/f')
  assert.deepEqual([f.name, f.path, f.type, f.size, f.mode, f.permissions, f.owner, f.group],
    ['f', '/home/user/d/f', 'file', 5, 0o640, '-rw-r-----', 'user', 'user'])
  assert.ok(Math.abs(f.modifiedTime.getTime() - Date.now()) < 60_000)
  const d = await sandbox.files.getInfo('d')
  assert.deepEqual([d.type, d.permissions], ['dir', 'drwxr-xr-x'])
  const link = await sandbox.files.getInfo('link')
  assert.deepEqual([link.type, link.symlinkTarget, link.permissions], ['file', '/home/user/d/f', 'Lrwxrwxrwx'])
  assert.equal((await sandbox.files.getInfo('dirlink')).type, 'dir')
  assert.equal((await sandbox.files.getInfo('/tmp')).permissions, 'dtrwxrwxrwx')
})

withSandbox('lists are sorted, as deep as asked, without descending links', async (sandbox) => {
  await sandbox.commands.run('mkdir -p t/b/c t/a; touch t/z t/b/f t/b/c/g; ln -s b t/link')
  const names = async (depth) => (await sandbox.files.list('t', depth ? { depth } : undefined)).map((e) => e.path.replace('/home/user/t/', ''))
  assert.deepEqual(await names(), ['a', 'b', 'link', 'z'])
  assert.deepEqual(await names(2), ['a', 'b', 'b/c', 'b/f', 'link', 'z'])
  assert.deepEqual(await names(9), ['a', 'b', 'b/c', 'b/c/g', 'b/f', 'link', 'z'])
  assert.deepEqual((await sandbox.files.list('t/link')).map((e) => e.path), ['/home/user/t/link/c', '/home/user/t/link/f'])
  await assert.rejects(sandbox.files.list('t/z'), /not a directory/i)
  await assert.rejects(sandbox.files.list('none'), /not.?found|no such|does not exist/i)
})

withSandbox('thousands of entries', async (sandbox) => {
  await sandbox.commands.run('mkdir many; cd many; seq 1 5000 | xargs touch')
  assert.equal((await sandbox.files.list('many')).length, 5000)
})

withSandbox('directories are made, once', async (sandbox) => {
  assert.equal(await sandbox.files.makeDir('x/y/z'), true)
  assert.equal(await sandbox.files.makeDir('x/y/z'), false)
  assert.equal((await sandbox.files.getInfo('x/y')).owner, 'user')
  await sandbox.files.write('plain', '')
  await assert.rejects(sandbox.files.makeDir('plain'))
})

withSandbox('exists, rename, remove', async (sandbox) => {
  await sandbox.files.write('old', 'content')
  assert.equal(await sandbox.files.exists('old'), true)
  const moved = await sandbox.files.rename('old', 'sub/new')
  assert.equal(moved.path, '/home/user/sub/new')
  assert.equal(await sandbox.files.exists('old'), false)
  assert.equal(await sandbox.files.read('sub/new'), 'content')
  await assert.rejects(sandbox.files.rename('none', 'x'), /not.?found|no such|does not exist/i)
  await sandbox.files.remove('sub')
  assert.equal(await sandbox.files.exists('sub'), false)
  await sandbox.files.remove('sub')
})

// ---- watches ----

withSandbox('a watch sees files come, change and go', async (sandbox) => {
  await sandbox.files.makeDir('w')
  const events = []
  const watch = await sandbox.files.watchDir('w', (e) => { events.push(`${e.type} ${e.name}`) })
  await sandbox.files.write('w/f', '1')
  await until(() => events.some((e) => e === 'create f') && events.some((e) => e === 'write f'), 'create and write')
  await sandbox.commands.run('chmod 600 w/f; mv w/f w/g; rm w/g')
  await until(() => ['chmod f', 'rename f', 'create g', 'remove g'].every((e) => events.includes(e)), 'the rest')
  await watch.stop()
  const count = events.length
  await sandbox.files.write('w/late', '1')
  await sandbox.commands.run('sleep 0.2')
  assert.equal(events.length, count)
})

withSandbox('a recursive watch sees new directories', async (sandbox) => {
  await sandbox.files.makeDir('w/sub')
  const names = new Set()
  const watch = await sandbox.files.watchDir('w', (e) => { names.add(e.name) }, { recursive: true })
  await sandbox.files.write('w/sub/f', '1')
  await until(() => names.has('sub/f'), 'the file below')
  await sandbox.files.makeDir('w/new/er')
  await until(async () => { await sandbox.files.write('w/new/er/g', '1'); return names.has('new/er/g') }, 'the file in the new directory')
  await watch.stop()
})

withSandbox('only directories can be watched', async (sandbox) => {
  await assert.rejects(sandbox.files.watchDir('none', () => {}), /not.?found|no such|does not exist/i)
  await sandbox.files.write('f', '')
  await assert.rejects(sandbox.files.watchDir('f', () => {}), /not a directory/i)
})

if (!isNew) withSandbox('watchers that are asked', async (sandbox) => {
  const rpc = async (method, body) => {
    const r = await sandboxFetch(sandbox, 49983, `/filesystem.Filesystem/${method}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
    return { status: r.status, json: await r.json() }
  }
  const made = await rpc('CreateWatcher', { path: '/tmp' })
  const id = made.json.watcherId
  assert.ok(id)
  await sandbox.files.write('/tmp/seen', '1')
  const events = await until(async () => {
    const got = (await rpc('GetWatcherEvents', { watcherId: id })).json.events
    return got?.length && got
  }, 'an event')
  assert.ok(events.some((e) => e.name === 'seen' && e.type === 'EVENT_TYPE_CREATE'))
  assert.equal((await rpc('RemoveWatcher', { watcherId: id })).status, 200)
  assert.equal((await rpc('GetWatcherEvents', { watcherId: id })).status, 404)
}, { secure: false })

// ---- plain HTTP ----

const files = (sandbox, query, init) => sandboxFetch(sandbox, 49983, `/files?${query}`, init)
const octets = { 'Content-Type': 'application/octet-stream' }

if (!isNew) {
  withSandbox('ranges, dates and kinds', async (sandbox) => {
    await sandbox.files.write('r.json', '0123456789')
    const whole = await files(sandbox, 'path=r.json')
    assert.equal(whole.headers.get('content-length'), '10')
    assert.match(whole.headers.get('content-type'), /json/)
    const part = await files(sandbox, 'path=r.json', { headers: { Range: 'bytes=2-4' } })
    assert.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 2-4/10', '234'])
    assert.equal(await (await files(sandbox, 'path=r.json', { headers: { Range: 'bytes=-3' } })).text(), '789')
    assert.equal((await files(sandbox, 'path=r.json', { headers: { Range: 'bytes=10-' } })).status, 416)
    const since = whole.headers.get('last-modified')
    assert.equal((await files(sandbox, 'path=r.json', { headers: { 'If-Modified-Since': since } })).status, 304)
    assert.equal((await files(sandbox, 'path=r.json', { headers: { 'Accept-Encoding': 'br;q=1, identity;q=0, gzip;q=0' } })).status, 406)
    const zipped = await files(sandbox, 'path=r.json', { headers: { 'Accept-Encoding': 'gzip, identity;q=0' } })
    assert.equal(zipped.headers.get('content-encoding'), 'gzip')
    assert.equal(await zipped.text(), '0123456789')
  }, { secure: false })

  withSandbox('octets, gzip, attributes', async (sandbox) => {
    const put = await files(sandbox, 'path=o.bin', { method: 'POST', body: 'raw octets', headers: octets })
    assert.deepEqual(await put.json(), [{ path: '/home/user/o.bin', name: 'o.bin', type: 'file' }])
    const zipped = await files(sandbox, 'path=g.txt', { method: 'POST', body: gzipSync('x'.repeat(3_000_000)), headers: { ...octets, 'Content-Encoding': 'gzip' } })
    assert.equal(zipped.status, 200)
    assert.equal((await sandbox.files.getInfo('g.txt')).size, 3_000_000)
    const marked = await files(sandbox, 'path=m', { method: 'POST', body: 'x', headers: { ...octets, 'X-Metadata-Kind': 'test' } })
    assert.deepEqual((await marked.json())[0].metadata, { kind: 'test' })
    assert.equal((await sandbox.commands.run(`python3 -c "import os; print(os.getxattr('m', 'user.e2b.kind').decode())"`)).stdout, 'test\n')
    const bare = await files(sandbox, 'path=m', { method: 'POST', body: 'x', headers: octets })
    assert.equal((await bare.json())[0].metadata, undefined)
  }, { secure: false })

  withSandbox('uploads that are wrong', async (sandbox) => {
    for (const [query, init, status] of [
      ['', { body: 'x', headers: octets }, 400],
      ['path=x', { body: 'x', headers: { 'Content-Type': 'text/plain' } }, 400],
      ['path=x', { body: 'x', headers: { ...octets, 'Content-Encoding': 'br' } }, 400],
      ['path=x', { body: 'no gzip', headers: { ...octets, 'Content-Encoding': 'gzip' } }, 400],
      ['path=x', { body: gzipSync('cut off').subarray(0, 12), headers: { ...octets, 'Content-Encoding': 'gzip' } }, 400],
      ['path=x', { body: '--b\r\ncut', headers: { 'Content-Type': 'multipart/form-data; boundary=b' } }, 400],
      ['path=x', { body: '--b--', headers: { 'Content-Type': 'multipart/form-data; boundary=b' } }, 400],
      ['path=x&username=nobody-such', { body: 'x', headers: octets }, 401],
      ['path=x', { body: 'x', headers: { ...octets, 'X-Metadata-A': 'x'.repeat(5000) } }, 400],
      ['path=/tmp', { body: 'x', headers: octets }, 400],
    ]) {
      const r = await files(sandbox, query, { method: 'POST', ...init })
      const text = await r.text()
      assert.equal(r.status, status, `${query} ${JSON.stringify(init.headers)}: ${text}`)
      assert.equal(JSON.parse(text).code, status)
    }
    const twice = new FormData()
    twice.append('file', new Blob(['1']), 'same')
    twice.append('file', new Blob(['2']), 'same')
    assert.equal((await files(sandbox, '', { method: 'POST', body: twice })).status, 400)
  }, { secure: false })

  withSandbox('a full disk is 507, and nothing else breaks', async (sandbox) => {
    const r = await sandbox.commands.run('head -c 200G /dev/zero > /tmp/fill 2>/dev/null || true; df --output=avail /tmp | tail -1')
    assert.ok(Number(r.stdout) < 1000, r.stdout)
    const put = await files(sandbox, 'path=/tmp/more', { method: 'POST', body: 'x'.repeat(1_000_000), headers: octets })
    assert.equal(put.status, 507)
    await sandbox.files.remove('/tmp/fill')
    await sandbox.files.write('/tmp/more', 'fits again')
  }, { secure: false })
}

// ---- signatures ----

withSandbox('signed URLs read and write, and nothing else', async (sandbox) => {
  await sandbox.files.write('signed.txt', 'content')
  const read = await sandbox.downloadUrl('signed.txt')
  assert.equal(await (await fetch(read)).text(), 'content')
  const write = await sandbox.uploadUrl('up.txt')
  const form = new FormData()
  form.append('file', new Blob(['uploaded']), 'ignored')
  assert.equal((await fetch(write, { method: 'POST', body: form })).status, 200)
  assert.equal(await sandbox.files.read('up.txt'), 'uploaded')
  assert.equal((await fetch(write)).status, 401)
  assert.equal((await fetch(read.replace(/signature=v1_.{5}/, 'signature=v1_AAAAA'))).status, 401)
  assert.equal((await fetch(read.replace('signed.txt', 'other.txt'))).status, 401)
}, { secure: true })

withSandbox('signatures end', async (sandbox) => {
  await sandbox.files.write('e', 'x')
  const url = await sandbox.downloadUrl('e', { useSignatureExpiration: -120 })
  const r = await fetch(url)
  assert.deepEqual(await r.json(), { code: 401, message: 'signature is already expired' })
  assert.equal((await fetch(await sandbox.downloadUrl('e', { useSignatureExpiration: 120 }))).status, 200)
}, { secure: true })

test('the known signature', async () => {
  const raw = 'hello.txt:read:user:0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0'
  const hash = createHash('sha256').update(raw).digest('base64').replace(/=+$/, '')
  assert.equal(`v1_${hash}`, 'v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E')
})
