// One execution after the other.
//
//     idle --execute--> running --value, error, interrupt, process.exit()--> ending --done--> idle
//
// The value is sent one turn of the event loop before `done`, so that rejections which nobody handles are errors of
// the execution that caused them. An interrupt may end any JavaScript here but what runs in critical(): nothing
// depends on code behind a call of user code but the report of its value, and the state changes as a whole.
import fs from 'node:fs'
import process from 'node:process'
import { types } from 'node:util'
import { restoreVariables } from './environment.mjs'
import { send, sendWithParts } from './frames.mjs'
import { announce, bringGuard, critical } from './guard.mjs'
import { valueParts } from './display.mjs'
import { errorParts, errorText } from './traces.mjs'
import { then } from './private.mjs'
import { makeProgram } from './program.mjs'

const LATE_MAX = 64 << 10 // characters of what failed between executions
const REQUESTS = 3

const soon = setImmediate
const { isPromise } = types
const { fstatSync } = fs
const leave = process.reallyExit.bind(process)

/** Ends what still waits for an execution that is over. */
export class Interrupted extends Error {
  constructor() {
    super('the execution was interrupted')
    this.name = 'KeyboardInterrupt'
    this.stack = `${this.name}: ${this.message}` // nobody's code has thrown it
  }
}

export class Session {
  #names
  #hidden
  #flush
  #count = 0
  #current = null // { id, number, isOver, isStopped, hasFailed, pending: displays being made }
  #late = ''

  constructor(names, hidden) {
    this.#names = names
    this.#hidden = hidden
  }

  /** flush(): sends what the streams still hold. */
  set flush(flush) {
    this.#flush = flush
  }

  // ---- what the driver calls

  execute(id, code) {
    const number = ++this.#count
    const execution = { id, number, isOver: false, isStopped: false, hasFailed: false, pending: new Set() }
    critical(() => {
      this.#current = execution
      announce(execution.number)
      send('count', `${execution.number}`)
      if (this.#late) send('stderr', '-', this.#late)
      this.#late = ''
    })
    try {
      const program = makeProgram(code, `<cell ${execution.number}>`, this.#names, this.#hidden)
      if (isPromise(program)) this.#after(execution, program, (run) => this.#run(execution, run))
      else this.#run(execution, program)
    } catch (error) {
      this.#fail(execution, error)
    }
  }

  print(name, text) {
    if (this.#current) send(name, '-', text)
  }

  /** number: the execution that is meant; undefined = whichever runs. */
  interrupt(number) { 
    const execution = this.#current
    if (!execution || (number !== undefined && number !== execution.number)) return
    execution.isStopped = true
    this.#report(execution, new Interrupted())
    this.#end(execution)
  }

  /** Something was thrown where nobody catches: it ends the execution, as it would end a program. */
  uncaught(error) {
    if (error instanceof Interrupted) return
    const execution = this.#current
    if (execution) execution.isStopped = true
    if (execution && !execution.hasFailed) this.#fail(execution, error)
    else if (execution) this.print('stderr', `${errorText(error)}\n`)
    else this.#late = (this.#late + `Uncaught, after the execution had ended:\n${errorText(error)}\n`).slice(-LATE_MAX)
  }

  /** process.exit(): ends the execution. The context stays, and whoever has called it does not go on. */
  exit(code) {
    const execution = this.#current
    if (execution) {
      const status = code ?? 0
      execution.isStopped = true
      const error = Object.assign(new Error(`process.exit(${status})`), { name: 'ExitError' })
      if (status !== 0 && status !== '0') this.#report(execution, error)
      this.#end(execution)
    }
    throw new Interrupted()
  }

  /** parts, or a promise of them. */
  display(parts) {
    const execution = this.#current
    if (!execution) return
    if (!isPromise(parts)) return this.#result('display', parts)
    execution.pending.add(parts)
    const done = () => execution.pending.delete(parts)
    const shown = then(parts, (ready) => execution.isOver || this.#result('display', ready))
    then(then(shown, undefined, (error) => this.uncaught(error)), done, done)
  }

  // ---- what programs call

  mark() {
    return this.#current
  }

  resume(execution, value) {
    if (execution?.isStopped) throw new Interrupted()
    return value
  }

  async *each(execution, values) {
    for await (const value of values) yield this.resume(execution, value)
  }

  // ---- an execution's course

  #run(execution, program) {
    bringGuard()
    if (execution.isOver) return
    try {
      const outcome = program()
      if (isPromise(outcome)) this.#after(execution, outcome, (value) => this.#settle(execution, value))
      else this.#settle(execution, outcome)
    } catch (error) {
      this.#fail(execution, error)
    }
  }

  #after(execution, promise, next) {
    then(promise, next, (error) => this.#fail(execution, error))
  }

  /** outcome: undefined, or the value in an array. */
  #settle(execution, outcome) {
    if (execution.isOver) return
    const value = outcome?.[0]
    if (isPromise(value)) this.#after(execution, value, (inner) => this.#show(execution, inner))
    else this.#show(execution, value)
  }

  #show(execution, value) {
    if (execution.isOver) return
    try {
      const parts = value === undefined ? undefined : valueParts(value)
      if (isPromise(parts)) this.#after(execution, parts, (ready) => this.#complete(execution, ready))
      else this.#complete(execution, parts)
    } catch (error) {
      this.#fail(execution, error)
    }
  }

  async #complete(execution, parts) {
    while (execution.pending.size && !execution.isOver) await Promise.allSettled(execution.pending)
    if (execution.isOver) return
    if (parts) this.#result('main', parts)
    soon(() => this.#end(execution))
  }

  #fail(execution, error) {
    if (execution.isOver) return
    if (!(error instanceof Interrupted)) this.#report(execution, error)
    soon(() => this.#end(execution))
  }

  #report(execution, error) {
    if (execution.isOver || execution.hasFailed) return
    const parts = errorParts(error)
    critical(() => {
      this.#flush()
      execution.hasFailed = true
      sendWithParts('error', '-', parts)
    })
  }

  #result(kind, parts) {
    this.#flush()
    if (parts.size) sendWithParts('result', kind, parts)
  }

  #end(execution) {
    critical(() => {
      if (execution.isOver) return
      this.#flush()
      execution.isOver = true
      this.#current = null
      restoreVariables()
      this.#check()
      announce(0)
      send('done', execution.id)
    })
  }

  // Without it no request would ever come; the end of the driver is noticed.
  #check() {
    try {
      fstatSync(REQUESTS)
    } catch {
      leave(1)
    }
  }
}
