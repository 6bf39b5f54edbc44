/** The engines of the suite, in the order of the tables. */
import { minisearchEntry } from './minisearch.js'
import { ownEntries } from './own.js'
import { pouchdbEntry } from './pouchdb.js'
import { sqliteEntry } from './sqlite.js'
import type { SubjectEntry } from './subject.js'

/** The engines, with what only Cellar does in small if asked. */
export function subjectEntries(isQuick: boolean): SubjectEntry[] {
  return [...ownEntries(isQuick), sqliteEntry, pouchdbEntry, minisearchEntry]
}
