/** Faults in the indexes of tables. */
import type { PlantedFault } from './planted-fault.js'

const room = 'src/comfort/indexes'
const queries = ['test/unit/comfort/indexes/queries.test.ts']
const histories = ['test/unit/comfort/indexes/history.test.ts']

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a unique key is not compared with the other rows of the batch',
    file: `${room}/index-observer.ts`,
    find: 'if (other !== undefined) throw uniqueViolation(table, plan, key, other)',
    replace: 'void other',
    foundBy: 'indexes',
    tests: queries,
  },
  {
    name: 'a unique key is not compared with the stored entry',
    file: `${room}/index-observer.ts`,
    find: 'throw uniqueViolation(table, plan, key, holder)',
    replace: 'void holder',
    tests: queries,
    foundBy: 'indexes',
  },
  {
    name: 'the entry of a key that another row takes is deleted',
    file: `${room}/index-observer.ts`,
    find: "if (taken.has(key.toString('latin1'))) continue",
    replace: '',
    foundBy: 'indexes',
    tests: queries,
  },
  {
    name: 'an index takes the value of a put that is older than the stored one',
    file: `${room}/row-values.ts`,
    find: 'if (known !== undefined && isNewer(known, put)) continue',
    replace: '',
    tests: histories,
    foundBy: 'indexes',
  },
  {
    name: 'entries between those of a change are not removed',
    file: `${room}/entries.ts`,
    find: 'if (order !== 0) removed.push(key)',
    replace: 'if (order > 0) removed.push(key)',
    tests: histories,
    foundBy: 'indexes',
  },
  {
    name: 'version markers uncover nothing',
    file: `${room}/row-values.ts`,
    find: ' || exactly.has(`${timestamp} ${name}`)',
    replace: '',
    tests: histories,
    foundBy: 'indexes',
  },
  {
    name: 'an entry is returned without a look at its row',
    file: `${room}/table-index.ts`,
    find: '(fits(plan, results[i], row) ? row : undefined)',
    replace: '(fits !== undefined && results[i] ? row : undefined)',
    tests: queries,
  },
  {
    name: 'mutations do not keep an index that is being built',
    file: `${room}/index-observer.ts`,
    find: "state !== 'failed'",
    replace: "state === 'ready'",
    tests: queries,
  },
  {
    name: 'puts of a list pass by the observers of writes',
    file: 'src/table/operations/plain-operations.ts',
    find: 'if (this.hook.isActive) {',
    replace: 'if (this.hook === undefined) {',
    tests: histories,
  },
  {
    name: 'atomic batches pass by the observers of writes',
    file: 'src/table/operations/atomic.ts',
    find: 'for (const { operations } of parts) writer = operations.complete(writer, mode)',
    replace: '',
    tests: histories,
  },
  {
    name: 'a put is taken as newer than the delete markers of its family',
    file: 'src/table/observers/written-rows.ts',
    find: 'approximateTimestamp(buffer, keyEnd) > family.store.markerTimestamp',
    replace: 'approximateTimestamp(buffer, keyEnd) >= 0',
    tests: histories,
  },
  {
    name: 'the delete markers of SSTables are forgotten',
    file: 'src/storage/store/store.ts',
    find: '(newest, slot) => Math.max(newest, slot.markerTimestamp),\n      ofTables,',
    replace: '(newest, slot) => Math.max(newest, slot.markerTimestamp),\n      -1,',
    tests: queries,
  },
  {
    name: 'a row that a batch names twice is two rows',
    file: 'src/table/observers/written-rows.ts',
    find: 'row = byKey?.get(start.name) ?? start',
    replace: 'row = start',
    tests: queries,
  },
  {
    name: 'a column narrows the family that a query or an index names too',
    file: `${room}/declaration.ts`,
    find: 'escapedQualifier === undefined || !whole.has(family)',
    replace: 'escapedQualifier === undefined || whole.size >= 0',
    tests: queries,
  },
  {
    name: 'an alteration of the coprocessors drops the indexes',
    file: `${room}/catalog.ts`,
    find: 'const kept = isOwn ?',
    replace: 'const kept = isOwn && given.length > 9 ?',
    tests: queries,
  },
  {
    name: 'a family of an index can be dropped',
    file: 'src/table/admin/schema.ts',
    find: 'checkFamilies(name, families, planIndex(index.declaration))',
    replace: 'void [checkFamilies, families, planIndex(index.declaration)]',
    tests: queries,
  },
]
