// What keeps an interrupt and the driver's own output apart. A thread (guard-worker.cjs) ends JavaScript that does
// not come back to the event loop after SIGINT; it can hit any code but what runs in critical(). One word of shared
// memory decides who was first:
//
//     OPEN --main: critical()--> HELD --> OPEN          the guard waits until the frame is out
//     OPEN --guard--> ENDING --JavaScript has ended--> OPEN      the main thread gets no further than lock()
import path from 'node:path'
import { SHARE_ENV, Worker } from 'node:worker_threads'

const LOCK = 0
const HEARD = 1
const RUNNING = 2
const WATCHING = 3
const ANSWER = 4
const START_MS = 5000 // should the thread not come, interrupts are only seen by the event loop
const OPEN = 0
const HELD = 1

const state = new Int32Array(new SharedArrayBuffer(20))
const { add, compareExchange, notify, store, wait } = Atomics
const soon = setImmediate
let depth = 0
let worker

/** Runs work() where the guard cannot end it. */
export function critical(work) {
  if (depth++ === 0) while (compareExchange(state, LOCK, OPEN, HELD) !== OPEN);
  try {
    return work()
  } finally {
    if (--depth === 0) store(state, LOCK, OPEN)
  }
}

/** The execution that an interrupt is meant for; 0 = none. */
export function announce(number) {
  store(state, RUNNING, number)
}

let interrupt = () => {}

/** call(number): this execution was interrupted, and what should have seen SIGINT was ended. */
export function onInterrupt(call) {
  interrupt = call
}

function count(index) {
  add(state, index, 1)
  notify(state, index)
}

const answer = () => count(ANSWER)

/** To be called at each SIGINT, when all is done that it asks for. */
export function heardSignal() {
  count(HEARD)
}

function start() {
  try {
    const execArgv = ['--expose-internals']
    const options = { __proto__: null, workerData: state, env: SHARE_ENV, execArgv, trackUnmanagedFds: false }
    worker = new Worker(path.join(import.meta.dirname, 'guard-worker.cjs'), options)
  } catch {
    worker = null // no threads here: what returns to the event loop can be interrupted, endless loops cannot
    return
  }
  worker.unref()
  worker.on('error', () => {})
  worker.on('exit', () => (worker = null))
  worker.on('message', (number) => {
    interrupt(number)
    soon(() => soon(answer)) // behind signals that have come
  })
}

/**
 * Called before each program. The first does not wait for the guard, which takes longer to start than most programs
 * take: should that one be endless and be interrupted at once, there are no variables to lose yet.
 */
export function bringGuard() {
  if (worker === undefined) start()
  else if (worker) wait(state, WATCHING, 0, START_MS)
}
