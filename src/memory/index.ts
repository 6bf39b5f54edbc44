/** A database in memory. The public entry `cellardb/memory`. */
export { MemoryAdmin } from './memory-admin.js'
export { MemoryDatabase, type MemoryDatabaseOptions } from './memory-database.js'
export { MemoryScanner } from './memory-scanners.js'
export { MemoryTable } from './memory-table.js'
