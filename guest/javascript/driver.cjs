// The driver of JavaScript and TypeScript: docs/interpreter.md has the protocol, lib/main.mjs the theory of
// operation. This file only finds out whether there is everything that the rest needs. lib/main.cjs is all of lib/ in
// one file (tools/guest-packages); no ECMAScript module, because to load one costs twenty milliseconds.
'use strict'
const fs = require('node:fs')

const OLDEST = 18

function fail(reason) {
  const content = Buffer.from(reason)
  fs.writeSync(4, Buffer.concat([Buffer.from(`failed - ${content.length}\n`), content]))
  process.exit(1)
}

if (parseInt(process.versions.node) < OLDEST)
  fail(`Node.js ${OLDEST} or newer is needed, this is ${process.version}: install nodejs`)
try {
  require('./lib/main.cjs')
} catch (error) {
  if (error.code !== 'MODULE_NOT_FOUND') fail(`the JavaScript driver cannot start: ${error.stack}`)
  fail('this Hotcell was built without the packages of its JavaScript driver: install npm, then build it again')
}
