// process.stdout and process.stderr: what is written is sent at once, in order, as one event for each call. What is
// written to the descriptors 1 and 2 does not come here.
import { Buffer } from 'node:buffer'
import process from 'node:process'
import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { method } from './private.mjs'

const INVALID = { code: 'ERR_INVALID_ARG_TYPE' }
const { nextTick } = process

class Output extends Writable {
  #decoder = new StringDecoder()
  #print

  constructor(fd, print) {
    super({ __proto__: null, decodeStrings: false })
    this.#print = print
    this.fd = fd
    this._type = 'pipe'
  }

  // Not by way of _write(): its state would be left half-done where an interrupt ends a call.
  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding]
    const isText = typeof chunk === 'string'
    if (!isText && !(chunk instanceof Uint8Array))
      throw Object.assign(new TypeError('The "chunk" argument must be a string or a Uint8Array'), INVALID)
    this.#put(isText && encoding && !/^utf-?8$/i.test(encoding) ? Buffer.from(chunk, encoding) : chunk)
    if (typeof callback === 'function') nextTick(callback)
    return true
  }

  #put(chunk) {
    const text = typeof chunk === 'string' ? this.#decoder.end() + chunk
      : this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    if (text) this.#print(text)
  }

  /** A character that was begun by bytes will not be completed. */
  flush() {
    const rest = this.#decoder.end()
    if (rest) this.#print(rest)
  }

  // As in Node.js, these streams are never closed.
  end(chunk, encoding, callback) {
    const last = [chunk, encoding, callback].find((argument) => typeof argument === 'function')
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function')
      this.write(chunk, typeof encoding === 'string' ? encoding : undefined)
    if (last) nextTick(last)
    return this
  }

  destroy() {
    return this
  }

  cork() {}

  uncork() {}
}

/** print(name, text) sends it. Gives a function that sends what is incomplete. */
export function installOutput(print) {
  const install = (name, fd) => {
    const stream = new Output(fd, (text) => print(name, text))
    const property = { __proto__: null, configurable: true, enumerable: true, writable: true, value: stream }
    Object.defineProperty(process, name, property)
    return method(Output.prototype.flush).bind(null, stream)
  }
  const flushOut = install('stdout', 1)
  const flushErr = install('stderr', 2)
  return () => {
    flushOut()
    flushErr()
  }
}
