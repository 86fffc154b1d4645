// Names that executions declare, which the next ones see and may declare again.
//
// Each is a `let` of the global scope, declared once by a script of its own; declaring it again assigns. Functions of
// earlier executions therefore see the new value, as in a notebook. A name that Node.js itself has (fetch, URL,
// setTimeout) must not be declared there: libraries would see the user's. It is kept under a name with an invisible
// character behind it, and its uses are written so (rewrite.mjs).
import vm from 'node:vm'

const MARK = '\u200d' // a joiner: allowed in names, not seen in messages

/** What CommonJS modules have as parameters. */
const OF_MODULES = ['require', 'module', 'exports', '__filename', '__dirname']

export class Names {
  #taken = new Set() // names of Node.js
  #table = new Map() // name: { written, isConstant }

  /** hidden: the name under which executions find the driver's helpers. */
  constructor(hidden) {
    for (let at = globalThis; at; at = Object.getPrototypeOf(at))
      for (const name of Object.getOwnPropertyNames(at)) this.#taken.add(name)
    this.#taken.add(hidden)
    for (const name of OF_MODULES) {
      this.#taken.add(name)
      this.#table.set(name, { written: `${hidden}.${name}`, isConstant: false })
    }
  }

  /** How a use of this name is written; undefined = as it is. */
  written(name) {
    const entry = this.#table.get(name)
    return entry && entry.written !== name ? entry.written : undefined
  }

  isConstant(name) {
    return this.#table.get(name)?.isConstant ?? false
  }

  /** declared: a Map of name and kind. */
  declare(declared) {
    for (const [name, kind] of declared) {
      let written = this.#table.get(name)?.written
      if (!written || written.includes('.')) written = this.#add(name)
      this.#table.set(name, { written, isConstant: kind === 'const' })
    }
  }

  #add(name) {
    if (!this.#taken.has(name) && this.#tryAdd(name)) return name
    this.#tryAdd(name + MARK)
    return name + MARK
  }

  // Fails when user code has made a property of the global object that cannot be hidden.
  #tryAdd(name) {
    try {
      vm.runInThisContext(`let ${name}`)
      return true
    } catch {
      return false
    }
  }
}
