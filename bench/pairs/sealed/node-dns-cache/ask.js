// Asks for the address of one host before each of 80 pieces of work; "cached" keeps the answer as long as it is valid.
const { promises: { Resolver } } = require('dns');

async function main() {
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${process.env.PORT}`]);
  let lookUp = async name => (await resolver.resolve4(name))[0];
  if (process.argv[2] === 'cached') {
    const CacheableLookup = require('cacheable-lookup');
    const cache = new CacheableLookup({ resolver, lookup: false });
    lookUp = async name => (await cache.lookupAsync(name, { family: 4 })).address;
  }
  let sum = 0;
  for (let n = 0; n < 80; n++) {
    const address = await lookUp('api.pair.test');
    sum += address.length;
  }
  console.log(sum);
}

main();
