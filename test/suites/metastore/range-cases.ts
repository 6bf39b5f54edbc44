/** Cases about walks over keys: ranges, bounds, both orders. */
import { ALL_FIELDS, NON_FIELDS, Version } from '../../../src/systems/metastore/index.js'
import type {
  FieldSelection,
  KeyRange,
  MetastoreItem,
} from '../../../src/systems/metastore/index.js'
import { outcome } from '../kit.js'
import { fields, fill, keysOf, range, valueText, type Fixture, type MetastoreCase } from './case.js'

/** The rows of the upstream test, `f` to `x`, out of order. */
const letters = [...'kxftnglpvhqiurjmosw']
const sorted = [...letters].sort()

/** The letters of a part of the rows. */
function letterRange(first: string, last: string): string {
  return sorted.filter((key) => key >= first && key <= last).join('')
}

function reversed(text: string): string {
  return [...text].reverse().join('')
}

const source = 'TestMetaStore#testScan'

/** A case that reads a range of the letters. */
function reads(text: string, asked: KeyRange, wanted: string): MetastoreCase {
  return {
    name: `${text} returns ${wanted === '' ? 'nothing' : wanted}`,
    source,
    needs: 'scannable',
    run: async (t, { table }) => {
      const opened = await table()
      await fill(opened, letters)
      for (const page of [1, 3, 100]) {
        const cursor = await opened.openRange(asked)
        t.equal(cursor.hasMoreEntries(), wanted !== '', 'whether there are entries')
        t.equal((await keysOf(cursor, page)).join(''), wanted, `read ${page} at a time`)
        t.equal(cursor.hasMoreEntries(), false, 'nothing is left')
      }
    },
  }
}

/** A case whose range is refused. */
function refuses(text: string, asked: KeyRange): MetastoreCase {
  return {
    name: `${text} gives IllegalOp`,
    source,
    needs: 'scannable',
    run: async (t, { table }) => {
      const opened = await table()
      await fill(opened, letters)
      t.equal(await outcome(opened.openRange(asked)), 'ERR_METASTORE_ILLEGAL_OP', 'open')
    },
  }
}

/** A case that reads the whole table with some fields. */
function selects(
  text: string,
  selection: FieldSelection,
  wanted: (key: string) => string,
): MetastoreCase {
  return {
    name: `a cursor over all rows with ${text} returns every row once`,
    source: 'TestMetaStore#testOpenCursor',
    run: async (t, { table }: Fixture) => {
      const opened = await table()
      await Promise.all(
        letters.map((key) => opened.put(key, fields({ name: key, counter: '1' }), Version.NEW)),
      )
      const cursor = await opened.openCursor(selection)
      const items: MetastoreItem[] = []
      for await (const item of cursor) items.push(item)
      items.sort((a, b) => (a.key < b.key ? -1 : 1))
      t.equal(items.map(({ key }) => key).join(''), sorted.join(''), 'keys')
      const right = items.every(({ key, value }) => valueText(value.value) === wanted(key))
      t.equal(right, true, 'fields')
      for (const { key, value } of items) {
        const { version } = await opened.get(key)
        if (version.compare(value.version) !== 'CONCURRENTLY') t.equal(key, '', 'version')
      }
    },
  }
}

/** The cases. */
export const rangeCases: readonly MetastoreCase[] = [
  selects('all fields', ALL_FIELDS, (key) => `counter=1 name=${key}`),
  selects('one field', new Set(['counter']), () => 'counter=1'),
  selects('no fields', NON_FIELDS, () => ''),
  reads('ASC [l, u]', range('[l', '[u'), letterRange('l', 'u')),
  reads('ASC (l, u)', range('(l', '(u'), letterRange('m', 't')),
  reads('ASC [l, u)', range('[l', '(u'), letterRange('l', 't')),
  reads('ASC (l, u]', range('(l', '[u'), letterRange('m', 'u')),
  reads('DESC [u, l]', range('[u', '[l', 'DESC'), reversed(letterRange('l', 'u'))),
  reads('DESC (u, l)', range('(u', '(l', 'DESC'), reversed(letterRange('m', 't'))),
  reads('DESC [u, l)', range('[u', '(l', 'DESC'), reversed(letterRange('m', 'u'))),
  reads('DESC (u, l]', range('(u', '[l', 'DESC'), reversed(letterRange('l', 't'))),
  reads('ASC [a, z]', range('[a', '[z'), sorted.join('')),
  reads('ASC [l, z]', range('[l', '[z'), letterRange('l', 'x')),
  reads('ASC [a, u]', range('[a', '[u'), letterRange('f', 'u')),
  reads('ASC from the start to u]', range('', '[u'), letterRange('f', 'u')),
  reads('DESC from the end to l]', range('', '[l', 'DESC'), reversed(letterRange('l', 'x'))),
  refuses('DESC [a, z]', range('[a', '[z', 'DESC')),
  refuses('ASC [z, a]', range('[z', '[a')),
  refuses('a range without order', range('[a', '[z', null as never)),
  reads('ASC [mm, mn]', range('[mm', '[mn'), ''),
  reads('DESC (mn, mm)', range('(mn', '(mm', 'DESC'), ''),
  reads('ASC [y, z], above all rows,', range('[y', '[z'), ''),
  reads('DESC [z, y], above all rows,', range('[z', '[y', 'DESC'), ''),
  reads('ASC [a, b], below all rows,', range('[a', '[b'), ''),
  reads('DESC [b, a], below all rows,', range('[b', '[a', 'DESC'), ''),
  reads('ASC (x to the end, above all rows,', range('(x', ''), ''),
  reads('ASC without bounds, both exclusive,', range('(', '('), sorted.join('')),
  reads('DESC without bounds', range('(', '(', 'DESC'), reversed(sorted.join(''))),
  reads('ASC (kk, un), bounds that are no keys,', range('(kk', '(un'), 'lmnopqrstu'),
  reads('DESC (un, kk)', range('(un', '(kk', 'DESC'), 'utsrqponml'),
  reads('ASC [m, m]', range('[m', '[m'), 'm'),
  reads('ASC (m, m]', range('(m', '[m'), ''),
  reads('DESC [m, m)', range('[m', '(m', 'DESC'), ''),
  {
    name: 'keys lie in the order of their UTF-8 bytes, in both directions',
    source: 'UTF-16 code units have another order',
    needs: 'scannable',
    run: async (t, { table, capabilities }) => {
      const opened = await table()
      const empty = capabilities.emptyKey ? [''] : []
      const keys = [
        '\0',
        '\0a',
        '\u0001',
        'a',
        'a\0',
        'a\0\0',
        'a\u0001',
        'a!',
        'ab',
        'b',
        '\u007f',
      ]
      keys.unshift(...empty)
      keys.push('é', '\ud7ff', '\ue000', '\ufffd', '\uffff', '\u{10000}', '\u{10ffff}')
      await fill(opened, keys)
      const wanted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      const found = await keysOf(await opened.openRange(range('', '')))
      t.equal(JSON.stringify(found), JSON.stringify(wanted), 'ASC')
      const backward = await keysOf(await opened.openRange(range('', '', 'DESC')))
      t.equal(JSON.stringify(backward), JSON.stringify(wanted.toReversed()), 'DESC')
      const middle = await keysOf(await opened.openRange(range('[\0a', '(\u{10000}')))
      const part = wanted.slice(wanted.indexOf('\0a'), wanted.indexOf('\u{10000}'))
      t.equal(JSON.stringify(middle), JSON.stringify(part), 'a part')
    },
  },
]
