/**
 * Texts of documents of all formats, and documents that mean harm.
 *
 * @runs long
 */
import { getEventListeners } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { PlainSearch } from '../../../../helpers/plain-search.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import {
  RepositoryManager,
  SearchIndexes,
  TextExtraction,
  type ContentExtractor,
} from '../../../../../src/systems/repository/index.js'
import { docxOf, pdfOf, zipOf } from './documents.js'

/** A module of a program, as an address. */
const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`

const code = 'ERR_EXTRACTION'

void t.test('texts', async (t) => {
  const extraction = new TextExtraction({
    modules: {
      'application/x-words': moduleOf(
        'export function extractText(content, write, { name }) {' +
          " write(name + ':' + Buffer.from(content).toString('hex')) }",
      ),
    },
  })
  t.teardown(() => extraction.close())
  const { extract } = extraction
  const of = (text: string, mediaType?: string, name?: string): Promise<string> =>
    extract(Buffer.from(text), mediaType, name)

  t.equal(await of('grün', 'text/plain'), 'grün')
  t.equal(await extract(Buffer.from('grün', 'latin1'), 'text/plain; charset=iso-8859-1'), 'grün')
  t.equal(await extract(Buffer.from('\ufeffgrün', 'utf16le'), 'text/plain'), 'grün')
  t.equal(await of('a,b\n1,2', 'text/csv'), 'a,b\n1,2')
  t.equal(await of('# title', 'application/octet-stream', 'read.md'), '# title')
  const html = '<p>one<b> two</b></p><script>three()</script><style>x</style>f&ouml;ur &amp; five'
  t.equal((await of(html, 'text/html')).trim(), 'one two\nföur & five')
  t.equal((await of('<a x="no"><b>one</b>&lt;<c>two</c></a>', 'text/xml')).trim(), 'one\n<two')
  t.equal((await of('<svg><text>x</text></svg>', 'image/svg+xml')).trim(), 'x')

  t.equal(await extract(docxOf(['one', 'two &amp; three'])), 'one\ntwo & three\n')
  const slides = zipOf({
    'ppt/slides/slide10.xml': '<p:sld><a:p><a:r><a:t>last</a:t></a:r></a:p></p:sld>',
    'ppt/slides/slide2.xml': '<p:sld><a:p><a:r><a:t>first</a:t></a:r></a:p></p:sld>',
  })
  t.equal(await extract(slides, 'application/x'), 'first\nlast\n')
  const cells = zipOf({
    'xl/sharedStrings.xml': '<sst><si><t>name</t></si></sst>',
    'xl/worksheets/sheet1.xml':
      '<worksheet><row><c t="s"><v>0</v></c><c><v>1.5</v></c>' +
      '<c t="inlineStr"><is><t>own</t></is></c></row></worksheet>',
  })
  t.same((await extract(cells)).split('\n').filter(Boolean), ['name', '1.5', 'own'])
  const odt = zipOf({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml':
      '<office:document-content><office:body><office:text><text:h>head</text:h>' +
      '<text:p>one<text:s/>two<text:tab/>x</text:p></office:text></office:body>' +
      '</office:document-content>',
  })
  t.equal(await extract(odt), 'head\none two\tx\n')
  t.match(await extract(zipOf({ 'c1.xhtml': '<p>page</p>', 'x.css': 'never' })), /^page\s*$/)
  t.match(await extract(pdfOf(['first page', 'second page'])), /first page\s+second page/)
  t.equal(await of('ab', 'application/x-words', 'n'), 'n:6162')
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('in ')
    yield Buffer.from('pieces')
  }
  t.equal(await extract(pieces(), 'text/plain'), 'in pieces')
  for (const unknown of ['image/png', 'application/octet-stream', undefined]) {
    await t.rejects(of('x', unknown), { code })
  }
  await t.rejects(extract(Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1]), 'text/plain'), { code })
})

void t.test('documents that are damaged or mean harm', async (t) => {
  const extraction = new TextExtraction({
    charactersMax: 1000,
    timeMillisecondsMax: 20_000,
    heapMebibytesMax: 64,
    contentBytesMax: 1_000_000,
    inflatedBytesMax: 3_000_000,
  })
  t.teardown(() => extraction.close())
  const { extract } = extraction

  const long = await extraction.extractText(Buffer.from('ä'.repeat(5000)), 'text/plain')
  t.same([long.text.length, long.isCut], [1000, true], 'the beginning is kept')
  const pairs = await extract(Buffer.from(`x${'😀'.repeat(800)}`), 'text/plain')
  t.equal(pairs, `x${'😀'.repeat(499)}`, 'no half character')
  const bomb = docxOf([`found${'a'.repeat(2_000_000)}`])
  t.ok(bomb.length < 10_000)
  t.match(await extract(bomb), /^founda{995}$/, 'inflated as far as it is wanted')
  const empty = zipOf({ 'word/document.xml': `<w:document>${' '.repeat(4_000_000)}</w:document>` })
  await t.rejects(extract(empty), { code, message: /too many bytes/ })
  const entities =
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">' +
    '<!ENTITY c SYSTEM "file:///etc/passwd">]><x>&b;&c;</x>'
  const kept = (await extract(Buffer.from(entities), 'text/xml')).trim()
  t.match(kept, /&b;&c;$/, 'not expanded')
  t.ok(kept.length < entities.length)
  const deep = '<a>'.repeat(20_000)
  t.match(await extract(Buffer.from(`${deep}x`), 'text/xml'), /x/)
  for (const damaged of [
    docxOf(['one']).subarray(0, 100),
    Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(100)]),
    zipOf({ 'other.bin': 'x' }),
    Buffer.from('%PDF-1.4 nothing'),
  ]) {
    await t.rejects(extract(damaged), { code })
  }
  await t.rejects(extract(Buffer.alloc(1_000_001), 'text/plain'), { code, message: /more than/ })
  t.equal(await extract(Buffer.from('still'), 'text/plain'), 'still')
})

void t.test('a thread that takes too long or too much is replaced', async (t) => {
  const modules = {
    'x/endless': moduleOf('export function extractText() { for (;;); }'),
    'x/memory': moduleOf(
      'export function extractText() { const all = []; for (;;) all.push({ all: [1, 2] }) }',
    ),
    'x/exit': moduleOf('export function extractText() { process.exit() }'),
    'x/throws': moduleOf('export function extractText() { throw new Error("no such page") }'),
  }
  const extraction = new TextExtraction({ heapMebibytesMax: 16, modules })
  const { extract } = extraction
  const asked = ['x/memory', 'x/exit', 'x/throws'].map((mediaType) =>
    extract(Buffer.from('x'), mediaType),
  )
  const after = extract(Buffer.from('after'), 'text/plain')
  await Promise.all([
    t.rejects(asked[0], { code, message: /memory/ }),
    t.rejects(asked[1], { code, message: /ended/ }),
    t.rejects(asked[2], { code, message: /no such page/ }),
  ])
  t.equal(await after, 'after')
  const hasty = new TextExtraction({ timeMillisecondsMax: 300, modules })
  const endless = hasty.extract(Buffer.from('x'), 'x/endless')
  await t.rejects(endless, { code, message: /more than 300 ms/ })
  await hasty.close()
  const stop = new AbortController()
  const stopped = extraction.extract(Buffer.from('x'), 'x/endless', undefined, stop.signal)
  setImmediate(() => stop.abort())
  await t.rejects(stopped, { code: 'ERR_REPOSITORY_CLOSED' }, 'before its time is over')
  t.equal(await extract(Buffer.from('next'), 'text/plain'), 'next')
  await extraction.close()
  await t.rejects(extract(Buffer.from('x'), 'text/plain'), { code: 'ERR_REPOSITORY_CLOSED' })
  t.throws(() => new TextExtraction({ charactersMax: 0 }), { code: 'ERR_INVALID_ARGUMENT' })
  const unknown = { thread: 3 } as object
  t.throws(() => new TextExtraction(unknown), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('documents that take their whole time hold no other one', async (t) => {
  const modules = { 'x/endless': moduleOf('export function extractText() { for (;;); }') }
  const extraction = new TextExtraction({ timeMillisecondsMax: 1500, modules })
  t.teardown(() => extraction.close())
  const { extract } = extraction
  const order: string[] = []
  const noted = async (name: string, text: Promise<string>): Promise<void> => {
    await text.catch(() => undefined)
    order.push(name)
  }
  const bad = Array.from({ length: 3 }, (_, at) => {
    return noted(`bad ${at}`, extract(Buffer.from('x'), 'x/endless'))
  })
  const good = Array.from({ length: 3 }, (_, at) => {
    return noted(`good ${at}`, extract(Buffer.from('x'), 'text/plain'))
  })
  await Promise.all(good)
  t.same(order.sort(), ['good 0', 'good 1', 'good 2'], 'none waits for the time of a bad one')
  const later = noted('later', extract(Buffer.from('x'), 'text/plain'))
  await later
  t.same(order.slice(3), ['later'], 'one thread is left for others')
  await Promise.all(bad)
  t.equal(order.length, 7)
  const changed = Buffer.from('before')
  const text = extract(changed, 'text/plain')
  changed.fill('x')
  t.equal(await text, 'before', 'bytes as of the call')
  t.throws(() => new TextExtraction({ threads: 0 }), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('a package that is installed later is found', async (t) => {
  const source =
    'export async function extractText(_, write) { write((await import("late")).text) }'
  const reader = { 'package.json': '{ "type": "module" }', 'reads.js': source }
  const folder = join(t.testdir({ node_modules: { reader } }), 'node_modules')
  const modules = { 'x/late': pathToFileURL(join(folder, 'reader/reads.js')) }
  const extraction = new TextExtraction({ modules })
  t.teardown(() => extraction.close())
  const { extract } = extraction
  await t.rejects(extract(Buffer.from('x'), 'x/late'), { code, message: /is missing: late$/ })
  const installed = join(folder, 'late')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{ "type": "module", "exports": "./main.js" }')
  writeFileSync(join(installed, 'main.js'), 'export const text = "here"')
  t.equal(await extract(Buffer.from('x'), 'x/late'), 'here')
})

void t.test('an index that is closed lets go of a document, which comes again', async (t) => {
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await manager.types.createRecordType({ name: '{n}page' })
  const server = new PlainSearch()
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [{ name: 'text', value: '{n}file', extractContent: true }],
  }
  let asked: () => void = () => undefined
  const begun = new Promise<void>((resolve) => (asked = resolve))
  const endless: ContentExtractor = async (_content, _mediaType, _name, signal) => {
    asked()
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    throw new Error('closed')
  }
  const first = await SearchIndexes.open(manager, { backend: () => server, extract: endless })
  await first.create({ name: 'pages', configuration })
  const file = await manager.blobs.upload(Buffer.from('a fox'), { mediaType: 'text/plain' })
  const record = { id: 'USER.a', type: '{n}page', fields: { '{n}file': file } } as const
  await manager.repository().table().create(record)
  await begun
  await first.close()
  const extract: ContentExtractor = async () => 'a fox'
  const second = await SearchIndexes.open(manager, { backend: () => server, extract })
  const index = second.index('pages')
  await index.waitFor()
  t.equal((await index.search({ query: 'text:fox' })).total, 1)
  t.same(await index.extractionFailures(), [], 'nothing was wrong with the document')
  t.same(await index.deadLetters(), [])
  await second.close()
  await manager.close()
})

void t.test('a text that is hard to read holds no other record', async (t) => {
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await manager.types.createRecordType({ name: '{n}page' })
  const table = manager.repository().table()
  const server = new PlainSearch()
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [
      { name: 'text', value: '{n}file', extractContent: true },
      { name: 'id', value: '{org.lilyproject.system}id' },
    ],
  }
  const reading = new Map<string, () => void>()
  const released = new Set<string>()
  const release = (name: string): void => {
    released.add(name)
    reading.get(name)?.()
  }
  const extract: ContentExtractor = async (_content, _mediaType, name = '', signal) => {
    if (name === 'good') return 'good'
    await new Promise<void>((resolve) => {
      if (released.has(name)) resolve()
      reading.set(name, resolve)
      signal?.addEventListener('abort', () => resolve())
    })
    if (name === 'broken') throw new Error('no such page')
    return `read ${name}`
  }
  const open = (): Promise<SearchIndexes> => {
    return SearchIndexes.open(manager, { backend: () => server, extract, textMilliseconds: 10 })
  }
  let indexes = await open()
  let index = await indexes.create({ name: 'pages', configuration })
  const write = async (name: string, id = name): Promise<number> => {
    const file = await manager.blobs.upload(Buffer.from(name), { mediaType: 'text/plain', name })
    const record = { id: `USER.${id}`, type: '{n}page', fields: { '{n}file': file } } as const
    return (await table.createOrUpdate(record)).sequence!
  }
  const total = async (query: string): Promise<number> => (await index.search({ query })).total
  const bad: number[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e', 'broken']) bad.push(await write(name))
  const good = await write('good')
  await index.waitFor(good)
  t.equal(await total('text:good'), 1, 'six others are being read')
  t.equal(await total('*:*'), 7, 'and are there without their texts')
  const failures = await index.extractionFailures()
  t.equal(failures.length, 6)
  t.match(failures[0].blobs[0], { isPending: true, reason: /being read/ })
  t.equal(index.counts.extractionFailures, 0, 'nothing is wrong with them as yet')
  release('a')
  await index.waitFor(bad[0])
  t.equal(await total('text:"read a"'), 1, 'a write is seen with its text')
  release('broken')
  await index.waitFor(bad[5])
  const broken = (await index.extractionFailures()).find(({ id }) => id === 'USER.broken')
  t.match(broken?.blobs, [{ reason: 'no such page' }])
  t.equal(index.counts.extractionFailures, 1)
  // Another blob while the first is being read.
  const second = await write('other', 'b')
  release('b')
  while (!reading.has('other')) await new Promise((resolve) => setTimeout(resolve, 1))
  release('other')
  await index.waitFor(second)
  t.equal(await total('text:"read other"'), 1)
  t.equal(await total('text:"read b"'), 0)

  await indexes.close()
  reading.clear()
  indexes = await open()
  index = indexes.index('pages')
  while (reading.size < 3) await new Promise((resolve) => setTimeout(resolve, 1))
  for (const name of ['c', 'd', 'e']) release(name)
  await index.retryExtractions()
  for (const name of ['c', 'd', 'e']) t.equal(await total(`text:"read ${name}"`), 1, 'a new start')
  await indexes.close()
  await manager.close()
})

void t.test('what markup says of itself', async (t) => {
  const extraction = new TextExtraction()
  t.teardown(() => extraction.close())
  const read = async (text: string, encoding: 'latin1' | 'utf8', type: string): Promise<string> => {
    const bytes = Buffer.from(text, encoding)
    return (await extraction.extract(bytes, type)).trim().replace(/\s+/g, ' ')
  }
  const subset = '<!DOCTYPE x [<!ENTITY a "hidden > ] text"><!-- it\'s > --> <!ELEMENT x ANY>]>'
  t.equal(await read(`${subset}<x>shown</x>`, 'utf8', 'text/xml'), 'shown')
  t.equal(await read(`<?xml version="1.0"?>${subset}<x>a</x>`, 'utf8', 'text/xml'), 'a')
  t.equal(await read('<!doctype html><p>page</p>', 'utf8', 'text/html'), 'page')
  t.equal(await read('<p>a <!DOCTYPE is no tag</p>', 'utf8', 'text/html'), 'a', 'as browsers')
  t.equal(await read('no element at all', 'utf8', 'text/html'), 'no element at all')
  const latin = '<html><meta charset="iso-8859-1"><p>Käse'
  t.equal(await read(latin, 'latin1', 'text/html'), 'Käse')
  const older = '<meta http-equiv="content-type" content="text/html; charset=windows-1252"><p>Käse'
  t.equal(await read(older, 'latin1', 'text/html'), 'Käse')
  t.equal(
    await read('<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>', 'latin1', 'text/xml'),
    'ü',
  )
  t.equal(await read(latin, 'utf8', 'text/html; charset=utf-8'), 'Käse', 'the media type counts')
  t.equal(await read('<meta charset="utf-16"><p>Käse', 'utf8', 'text/html'), 'Käse')
  t.equal(await read('<meta charset="nonsense"><p>Käse', 'utf8', 'text/html'), 'Käse')
  t.equal(await read(`\ufeff${latin}`, 'utf8', 'text/html; charset=latin1'), 'Käse', 'mark first')
})

void t.test('a signal that lives on holds no document', async (t) => {
  const extraction = new TextExtraction()
  t.teardown(() => extraction.close())
  const { signal } = new AbortController()
  await extraction.extract(Buffer.from('one'), 'text/plain', undefined, signal)
  await t.rejects(extraction.extract(Buffer.from('one'), 'image/png', undefined, signal), { code })
  t.same(getEventListeners(signal, 'abort'), [])
})
