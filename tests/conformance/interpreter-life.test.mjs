// Interrupts, reconnects, several clients, and contexts or sandboxes that end.
import { Sandbox, assert, test } from './harness.mjs'
import { LIMIT_MS, run, stdout, withInterpreter } from './interpreter.mjs'

withInterpreter('a time limit interrupts the execution: the next one works, and nothing is forgotten', async (sandbox) => {
  await run(sandbox, 'kept = 7')
  await assert.rejects(sandbox.runCode('import time; time.sleep(300)', { timeoutMs: 3_000 }), /time/i)
  const next = await run(sandbox, '1 + 1', { timeoutMs: 120_000 })
  assert.equal(next.text, '2')
  assert.equal((await run(sandbox, 'kept')).text, '7')
})

withInterpreter('what an interrupted execution holds is given up in every language', async (sandbox) => {
  for (const [language, endless, next, text] of [
    ['python', 'while True: pass', 'print("on")', 'on\n'], ['python', '!sleep 300', 'print("on")', 'on\n'],
    ['bash', 'sleep 300', 'echo on', 'on\n'], ['bash', 'while :; do :; done', 'echo on', 'on\n'],
    ['javascript', 'for (;;) {}', 'console.log("on")', 'on\n'],
    ['javascript', 'await new Promise(() => setTimeout(() => {}, 1e6))', 'console.log("on")', 'on\n'],
  ]) {
    await run(sandbox, next, { language }) // started
    await assert.rejects(sandbox.runCode(endless, { language, timeoutMs: 500 }), undefined, `${language}: ${endless}`)
    assert.equal(stdout(await run(sandbox, next, { language, timeoutMs: 120_000 })), text, `${language}: ${endless}`)
  }
})

withInterpreter('a client that went away while waiting for its turn takes none', async (sandbox) => {
  await run(sandbox, 'import os, time; ran = []')
  let first
  await new Promise((begun) => {
    first = run(sandbox, 'print("begun", flush=True)\nwhile not os.path.exists("/tmp/turn"): time.sleep(0.01)', { onStdout: begun })
  })
  await assert.rejects(sandbox.runCode('ran.append("late")', { timeoutMs: 700 }))
  await sandbox.files.write('/tmp/turn', '')
  await first
  assert.equal((await run(sandbox, 'ran')).text, '[]')
})

withInterpreter('another client, and the same one again, find everything as it was', async (sandbox) => {
  await run(sandbox, 'x = 41')
  const again = await Sandbox.connect(sandbox.sandboxId)
  const done = await run(again, 'x += 1; x')
  assert.deepEqual([done.text, done.executionCount], ['42', 2])
  const context = await again.createCodeContext()
  await run(again, 'y = 1', { context })
  assert.equal((await run(sandbox, 'y', { context })).text, '1')
})

test('several clients in several sandboxes at once', async (t) => {
  const sandboxes = await Promise.all([1, 2, 3, 4].map(() => Sandbox.create({ timeoutMs: 600_000 })))
  t.after(() => Promise.all(sandboxes.map((s) => s.kill().catch(() => {}))))
  const clients = await Promise.all(sandboxes.flatMap((s) => [s, Sandbox.connect(s.sandboxId), Sandbox.connect(s.sandboxId)]))
  await Promise.all(sandboxes.map((s, i) => run(s, `mine = ${i}; total = 0`)))
  const work = clients.flatMap((client, c) => [1, 2, 3].map(async (n) => {
    const done = await run(client, `print("${c}/${n}"); total += 1; mine`)
    assert.deepEqual([stdout(done), done.text], [`${c}/${n}\n`, String(Math.floor(c / 3))])
  }))
  await Promise.all(work)
  for (const s of sandboxes) assert.equal((await run(s, 'total')).text, '9')
}, LIMIT_MS)

withInterpreter('a killed sandbox says so', async (sandbox) => {
  let started
  const printed = new Promise((resolve) => { started = resolve })
  const execution = sandbox.runCode('print("started", flush=True)\nimport time; time.sleep(300)', { timeoutMs: 300_000, onStdout: started })
  const verdict = assert.rejects(execution, (e) => {
    assert.equal(e.constructor.name, 'TimeoutError', `${e.constructor.name}: ${e.message}`)
    assert.match(e.message, /sandbox was killed while the request was in progress|sandbox timeout/)
    return true
  })
  await printed
  await sandbox.kill()
  await verdict
  await assert.rejects(sandbox.runCode('1'), (e) => e.constructor.name === 'TimeoutError')
})

withInterpreter('the port of the interpreter answers inside, whatever is killed there', async (sandbox) => {
  const ask = 'import sys, urllib.request as r; print(r.urlopen(f"http://{sys.argv[1]}:{sys.argv[2]}/health").status)'
  const health = async () => {
    for (const [host, port, status] of [['0.0.0.0', 49999, 200], ['localhost', 49999, 200], ['127.0.0.1', 49983, 204]]) {
      const { stdout } = await sandbox.commands.run(`python3 -c '${ask}' ${host} ${port}`)
      assert.equal(Number(stdout), status, `${host}:${port}`)
    }
  }
  await health()
  for (const victims of ["$(pgrep -f '/opt/hotcell/')", "$(pgrep -f 'of no such name')", '-1']) {
    await sandbox.commands.run(`kill -9 ${victims}`, { user: 'root' }).catch(() => {}) // the shell may be among them
    await health()
    assert.equal((await run(sandbox, 'x = 1; x')).text, '1', victims)
  }
})

withInterpreter('code reaches its own sandbox over its own loopback', async (sandbox) => {
  const done = await run(sandbox, `
import json, urllib.request
def post(path, value):
    return urllib.request.urlopen(urllib.request.Request("http://localhost:49999" + path, json.dumps(value).encode(),
        {"Content-Type": "application/json", "X-Access-Token": token}))
token = ${JSON.stringify(sandbox.envdAccessToken ?? '')}
context = json.load(post("/contexts", {"language": "python"}))
lines = [json.loads(line) for line in post("/execute", {"code": "6 * 7", "context_id": context["id"]})]
[line["text"] for line in lines if line["type"] == "result"]`)
  assert.equal(done.text, "['42']")
})

withInterpreter('a context that dies says so, and works again', async (sandbox) => {
  for (const death of ['os._exit(1)', 'os.kill(os.getpid(), 9)', 'ctypes.string_at(0)']) {
    await run(sandbox, 'import os, ctypes; x = 1')
    const done = await sandbox.runCode(`print("before", flush=True)\n${death}`)
    assert.ok(done.error, death)
    assert.equal(stdout(done), 'before\n', death)
    const after = await again(sandbox, '1 + 1')
    assert.equal(after.text, '2', death)
    assert.equal((await sandbox.runCode('x')).error.name, 'NameError', death)
  }
})

/** The first execution after a death may still tell of it. */
async function again(sandbox, code) {
  const done = await sandbox.runCode(code)
  return done.error ? await run(sandbox, code) : done
}

withInterpreter('drivers killed from inside are healed', async (sandbox) => {
  await run(sandbox, 'x = 1')
  await run(sandbox, 'var y = 1', { language: 'js' })
  await sandbox.commands.run("pgrep -f /opt/hotcell | xargs kill -9 || true", { user: 'root' }).catch(() => {})
  assert.equal((await again(sandbox, '1 + 1')).text, '2')
  const done = await sandbox.runCode('1 + 2', { language: 'js' })
  assert.equal((done.error ? await run(sandbox, '1 + 2', { language: 'js' }) : done).text, '3')
})

withInterpreter('exit() and raise SystemExit end no context', async (sandbox) => {
  await run(sandbox, 'x = 5')
  await sandbox.runCode('import sys; sys.exit(3)')
  assert.equal((await run(sandbox, 'x')).text, '5')
})

withInterpreter('a paused sandbox wakes with its contexts', async (sandbox) => {
  await run(sandbox, 'x = 5')
  await (sandbox.pause ?? sandbox.betaPause).call(sandbox)
  const awake = await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await run(awake, 'x')).text, '5')
})

withInterpreter('snapshots and forks have the files and a fresh interpreter', async (sandbox, t) => {
  await run(sandbox, 'x = 1\nopen("/home/user/data.txt", "w").write("kept")')
  const { snapshotId } = await sandbox.createSnapshot()
  const copy = await Sandbox.create(snapshotId, { timeoutMs: 120_000 })
  const [fork] = await sandbox.fork({ timeoutMs: 120_000 })
  t.after(() => Promise.all([copy.kill(), fork.kill()]).then(() => Sandbox.deleteSnapshot(snapshotId)).catch(() => {}))
  for (const other of [copy, fork]) {
    assert.ok(other instanceof Sandbox)
    assert.equal((await run(other, 'open("/home/user/data.txt").read()')).text, 'kept')
    assert.equal((await other.runCode('x')).error?.name, 'NameError')
  }
  assert.equal((await run(sandbox, 'x')).text, '1')
})
