/**
 * better-sqlite3: documents as JSON in a table, versions in another, FTS5 for the words, an index
 * on a generated column. WAL with `synchronous = NORMAL`: a commit survives the process.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadPeer, peerVersion } from '../engines/peers.js'
import type { BenchDocument } from './documents.js'
import type { Subject, SubjectEntry } from './subject.js'

interface Statement {
  run(...parameters: unknown[]): { readonly changes: number }
  get(...parameters: unknown[]): unknown
  all(...parameters: unknown[]): unknown[]
  iterate(...parameters: unknown[]): IterableIterator<unknown>
  pluck(): this
}

interface Sqlite {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  transaction<A extends unknown[], T>(step: (...values: A) => T): (...values: A) => T
  close(): void
}

const chunkBytes = 65_536

const schema = `
  CREATE TABLE documents (
    id TEXT PRIMARY KEY, version INTEGER, document TEXT,
    year INTEGER AS (json_extract(document, '$.year')) VIRTUAL
  );
  CREATE INDEX years ON documents (year, id);
  CREATE TABLE versions (id TEXT, version INTEGER, document TEXT, PRIMARY KEY (id, version))
    WITHOUT ROWID;
  CREATE VIRTUAL TABLE words USING fts5(title, body, content='');
  CREATE TABLE blobs (blob INTEGER, chunk INTEGER, bytes BLOB, PRIMARY KEY (blob, chunk))
    WITHOUT ROWID;
`

function open(directory: string): Promise<Subject> {
  mkdirSync(directory, { recursive: true })
  const SqliteClass = loadPeer<new (path: string) => Sqlite>('better-sqlite3')
  const sqlite = new SqliteClass(join(directory, 'bench.sqlite'))
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  sqlite.pragma('cache_size = -65536')
  sqlite.exec(schema)
  const insert = sqlite.prepare('INSERT INTO documents (id, version, document) VALUES (?, 1, ?)')
  const select = sqlite.prepare('SELECT document FROM documents WHERE id = ?').pluck()
  const change = sqlite.prepare(
    `UPDATE documents SET document = json_set(document, '$.counter', ?)
     WHERE id = ? AND json_extract(document, '$.counter') = ?`,
  )
  const keep = sqlite.prepare(
    'INSERT INTO versions SELECT id, version, document FROM documents WHERE id = ?',
  )
  const rename = sqlite.prepare(
    `UPDATE documents SET version = version + 1, document = json_set(document, '$.title', ?)
     WHERE id = ?`,
  )
  const addVersion = sqlite.transaction((id: string, title: string) => {
    keep.run(id)
    rename.run(title, id)
  })
  const oldTitle = sqlite
    .prepare(`SELECT document FROM versions WHERE id = ? AND version = ?`)
    .pluck()
  const newTitle = sqlite
    .prepare('SELECT document FROM documents WHERE id = ? AND version = ?')
    .pluck()
  const all = sqlite.prepare('SELECT document FROM documents ORDER BY id').pluck()
  const find = sqlite
    .prepare('SELECT id FROM documents WHERE year >= ? ORDER BY year, id LIMIT ?')
    .pluck()
  const addWords = sqlite.prepare('INSERT INTO words (title, body) VALUES (?, ?)')
  const search = sqlite.prepare('SELECT count(*) FROM words WHERE words MATCH ?').pluck()
  const addChunk = sqlite.prepare('INSERT INTO blobs VALUES (?, ?, ?)')
  const chunks = sqlite.prepare('SELECT bytes FROM blobs WHERE blob = ? ORDER BY chunk').pluck()
  const bodyOf = ({ id: _, ...rest }: BenchDocument): string => JSON.stringify(rest)
  let blobs = 0
  return Promise.resolve({
    load: sqlite.transaction((documents: readonly BenchDocument[]) => {
      for (const document of documents) insert.run(document.id, bodyOf(document))
    }),
    create: (document) => insert.run(document.id, bodyOf(document)),
    read: (id) => {
      const text = select.get(id) as string | undefined
      return text === undefined ? undefined : { id, ...(JSON.parse(text) as object) }
    },
    documentOf: (read) => read as BenchDocument | undefined,
    change: (id, expected, next) => change.run(next, id, expected).changes === 1,
    addVersion: (id, title) => addVersion(id, title),
    readVersion: (id, version) => {
      const text = (oldTitle.get(id, version) ?? newTitle.get(id, version)) as string | undefined
      return text === undefined ? undefined : (JSON.parse(text) as BenchDocument).title
    },
    scan: () => {
      let count = 0
      let years = 0
      for (const text of all.iterate()) {
        count++
        years += (JSON.parse(text as string) as BenchDocument).year
      }
      return [count, years] as const
    },
    find: (year, limit) => find.all(year, limit) as string[],
    prepareSearch: sqlite.transaction((documents: readonly BenchDocument[]) => {
      for (const { title, body } of documents) addWords.run(title, body)
    }),
    search: ([a, b]) => search.get(`${a} AND ${b}`) as number,
    writeBlob: async (pieces) => {
      const blob = ++blobs
      let chunk = 0
      let waiting: Buffer[] = []
      let bytes = 0
      const flush = (): void => {
        addChunk.run(blob, chunk++, Buffer.concat(waiting))
        waiting = []
        bytes = 0
      }
      for await (const piece of pieces) {
        waiting.push(piece)
        bytes += piece.length
        if (bytes >= chunkBytes) flush()
      }
      if (bytes > 0) flush()
      return blob
    },
    readBlob: (blob, piece) => {
      let size = 0
      for (const bytes of chunks.iterate(blob)) {
        size += (bytes as Buffer).length
        piece(bytes as Buffer)
      }
      return size
    },
    close: () => sqlite.close(),
  })
}

/** SQLite with JSON and FTS5. */
export const sqliteEntry: SubjectEntry = {
  name: 'better-sqlite3',
  isPeer: true,
  version: () => peerVersion('better-sqlite3'),
  open,
}
