// Preloaded: names below "localhost" are this host, as RFC 6761 has it and many resolvers have not.
const dns = require('node:dns')

const lookup = dns.lookup
dns.lookup = (name, options, callback) => {
  const done = typeof options === 'function' ? options : callback
  if (!name.endsWith('.localhost')) return lookup(name, options, callback)
  if (typeof options === 'object' && options.all) process.nextTick(done, null, [{ address: '127.0.0.1', family: 4 }])
  else process.nextTick(done, null, '127.0.0.1', 4)
}
