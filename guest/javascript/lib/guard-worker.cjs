// The thread beside the main thread, see guard.mjs. It sees SIGINT by itself. When the main thread does not see it, and
// does not answer a message either, what runs there is ended: by the inspector, which needs no port for that.
'use strict'
const { parentPort, workerData: state } = require('node:worker_threads')

const LOCK = 0
const HEARD = 1
const RUNNING = 2
const WATCHING = 3
const ANSWER = 4
const OPEN = 0
const ENDING = 2
const HEARD_MS = 50
const ANSWER_MS = 100 // an execution that has not come back by then is in a loop
const IDLE_MS = 2000 // between executions the machine may just be slow

let inspector
let seen = 0 // signals; the main thread counts its own in HEARD
let isInsisting = false

/** True when the main thread has seen all signals that were seen here. */
function isHeard(patience) {
  const end = Date.now() + patience
  for (;;) {
    const heard = Atomics.load(state, HEARD)
    if (heard >= seen) return true
    if (Atomics.wait(state, HEARD, heard, Math.max(0, end - Date.now())) === 'timed-out') return false
  }
}

/** True when it answers; by then it has seen what there was to see. */
function ask() {
  const number = Atomics.load(state, RUNNING)
  const before = Atomics.load(state, ANSWER)
  parentPort.postMessage(number)
  if (Atomics.wait(state, ANSWER, before, number ? ANSWER_MS : IDLE_MS) === 'timed-out') return false
  seen = Atomics.load(state, HEARD)
  return true
}

function end(then) {
  while (Atomics.compareExchange(state, LOCK, OPEN, ENDING) !== OPEN) if (isHeard(2)) return then()
  inspector ??= require('node:inspector')
  const session = new inspector.Session()
  session.connectToMainThread()
  session.post('Runtime.terminateExecution', () => {
    Atomics.store(state, LOCK, OPEN)
    session.disconnect()
    then()
  })
}

/** What has been ended may not have been the last of its kind, and may have been what the signal was to call. */
function insist() {
  if (isHeard(HEARD_MS) || ask()) isInsisting = false
  else end(insist)
}

function interrupted() {
  seen++
  if (isInsisting) return
  isInsisting = true
  insist()
}

// The public interface gives signals to the main thread only; this thread alone may see what is below it.
process.emitWarning = () => {}
const { Signal } = require('internal/test/binding').internalBinding('signal_wrap')
const signal = new Signal()
signal.onsignal = interrupted
signal.start(require('node:os').constants.signals.SIGINT)
seen = Atomics.load(state, HEARD)
Atomics.store(state, WATCHING, 1)
Atomics.notify(state, WATCHING)
