/** A database in memory. The public entry `cellardb/memory`. */
export { MemoryAdmin } from './memory-admin.js'
export { MemoryDatabase, type MemoryDatabaseOptions } from './memory-database.js'
export { MemoryScanner } from './memory-scanners.js'
export { MemoryTable, type CheckWithAction } from './memory-table.js'
export type { Admin, Database } from '../api/index.js'
