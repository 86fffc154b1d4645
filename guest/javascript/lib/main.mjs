// The driver of JavaScript and TypeScript.
//
//     3 ── FrameReader ──► Session.execute ── program: parse, rewrite, compile ──► runs in the global scope
//     4 ◄── frames ◄────── values, errors, what the program prints
//                                ▲
//     SIGINT ── main thread, or guard-worker when it does not listen ── Session.interrupt
//
// Programs run in the driver's own realm and process: they see Node.js as it is. What they replace or close harms
// themselves at most, because the driver took what it needs before they ran; the server trusts nothing of it.
import { Buffer } from 'node:buffer'
import net from 'node:net'
import process from 'node:process'
import vm from 'node:vm'
import { installOutput } from './output.mjs'
import { setForExecution, setVariable } from './environment.mjs'
import { importModule, makeModuleScope, pick } from './modules.mjs'
import { FrameReader, send } from './frames.mjs'
import { makeDisplay } from './display.mjs'
import { Names } from './names.mjs'
import { Session } from './session.mjs'
import { heardSignal, onInterrupt } from './guard.mjs'
import { installTraces } from './traces.mjs'
import { includes, method } from './private.mjs'

const HIDDEN = '__hotcell' // what rewritten programs call
const REQUESTS = 3
const BUFFER_SIZE = 64 << 10

const subarray = method(Buffer.prototype.subarray)
const soon = setImmediate
const leave = process.reallyExit.bind(process)

function define(object, name, value) {
  Object.defineProperty(object, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false })
}

function makeHelpers(session) {
  const helpers = makeModuleScope()
  const constant = () => {
    throw new TypeError('Assignment to constant variable.')
  }
  Object.assign(helpers, { import: importModule, pick, constant })
  helpers.mark = session.mark.bind(session)
  helpers.resume = session.resume.bind(session)
  helpers.each = session.each.bind(session)
  return helpers
}

/** User code may remove all listeners: they are put back before each execution. */
function makeListeners(session) {
  const onSignal = () => {
    session.interrupt()
    heardSignal()
  }
  const listeners = [
    { name: 'SIGINT', listener: onSignal },
    { name: 'uncaughtException', listener: (error) => isHeard('uncaughtException') || session.uncaught(error) },
    { name: 'unhandledRejection', listener: (reason) => isHeard('unhandledRejection') || session.uncaught(reason) },
  ]
  const listenersOf = method(process.listeners)
  const on = method(process.on)
  const isHeard = (name) => listenersOf(process, name).length > 1 // user code handles it
  return () => {
    for (let i = 0; i < listeners.length; i++) {
      const { name, listener } = listeners[i]
      if (!includes(listenersOf(process, name), listener)) on(process, name, listener)
    }
  }
}

function start() {
  define(globalThis, 'display', undefined)
  const names = new Names(HIDDEN)
  const session = new Session(names, HIDDEN)
  define(globalThis, 'display', makeDisplay((parts) => session.display(parts)))
  session.flush = installOutput((name, text) => session.print(name, text))
  onInterrupt((number) => session.interrupt(number))
  installTraces()
  vm.runInThisContext(`let ${HIDDEN}; (value) => { ${HIDDEN} = value }`)(makeHelpers(session))
  process.exit = (code) => session.exit(code)
  const listen = makeListeners(session)
  listen()
  const requests = {
    __proto__: null,
    env: (argument, text) => setVariable(text),
    with: (argument, text) => setForExecution(text),
    // After the next poll: a signal that came before the request is seen behind it, and is not meant for it.
    execute: (id, code) => soon(() => soon(() => {
      listen()
      session.execute(id, code)
    })),
  }
  read(new FrameReader((name, argument, text) => requests[name]?.(argument, text)))
  send('ready')
}

function read(reader) {
  const callback = (size, buffer) => {
    reader.feed(subarray(buffer, 0, size))
    return true
  }
  const onread = { buffer: Buffer.alloc(BUFFER_SIZE), callback }
  const socket = new net.Socket({ __proto__: null, fd: REQUESTS, readable: true, writable: false, onread })
  socket.on('end', () => leave(0))
  socket.on('error', () => leave(1))
  socket.on('close', () => leave(0))
  socket.resume()
}

start()
