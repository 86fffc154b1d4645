// What the protocol is made of, taken before user code can replace it. Modules of Node.js are imported by name for the
// same reason: globalThis.process may be anything.
const { bind, call } = Function.prototype

/** A method as a function of its object. */
export const method = bind.bind(call)

export const includes = method(Array.prototype.includes)
export const split = method(String.prototype.split)
export const slice = method(String.prototype.slice)
export const unitAt = method(String.prototype.charCodeAt)
export const forEachOf = method(Map.prototype.forEach)
export const clearMap = method(Map.prototype.clear)
export const hasIn = method(Map.prototype.has)
export const setIn = method(Map.prototype.set)
export const then = method(Promise.prototype.then)
