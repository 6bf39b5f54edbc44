/** Hubs and loads in their stored text, new and old. */
import t from 'tap'
import {
  formatHubInfo,
  formatHubLoad,
  hubAddress,
  isSameHub,
  parseHubInfo,
  parseHubLoad,
} from '../../../../src/systems/metastore/hedwig/hub-info.js'

const invalid = { code: 'ERR_INVALID_ARGUMENT' }

void t.test('107: a hub comes back from its text', async (t) => {
  const info = { hostname: 'localhost:9086:9087', czxid: 2n ** 64n - 1n }
  const text = 'hostname: "localhost:9086:9087"\nczxid: 18446744073709551615\n'
  t.equal(formatHubInfo(info), text)
  t.strictSame(parseHubInfo(text), info)
  t.strictSame(parseHubInfo('localhost:9086:9087'), { hostname: info.hostname, czxid: 0n })
  t.strictSame(parseHubInfo('localhost:9086'), { hostname: 'localhost:9086:-1', czxid: 0n })
  for (const text of [
    '',
    'localhost,a,b,c',
    'hostname: localhost:9086:9087',
    'hostname: "localhost:9086:9087"',
    'hostname: "localhost" czxid: 1',
    'localhost',
    'localhost:',
    'localhost:1:2:3',
    'localhost:70000',
    'localhost:1:-2',
    'local host:1',
  ]) {
    t.throws(() => parseHubInfo(text), invalid, text)
  }
})

void t.test('107: a load comes back from its text', async (t) => {
  t.strictSame(parseHubLoad(formatHubLoad({ numTopics: 7n })), { numTopics: 7n })
  t.strictSame(parseHubLoad('9998'), { numTopics: 9998n })
  for (const text of ['', '9998_x', '-1', 'numTopics: x', 'numTopics 1', '"9998"']) {
    t.throws(() => parseHubLoad(text), invalid, text)
  }
})

void t.test('hubs are the same if address and incarnation are', async (t) => {
  const hostname = hubAddress('localhost:09086')
  t.equal(hostname, 'localhost:9086:-1')
  t.ok(isSameHub({ hostname, czxid: 1n }, { hostname, czxid: 1n }))
  t.notOk(isSameHub({ hostname, czxid: 1n }, { hostname, czxid: 2n }))
  t.notOk(isSameHub({ hostname, czxid: 1n }, { hostname: 'localhost:1:-1', czxid: 1n }))
})
