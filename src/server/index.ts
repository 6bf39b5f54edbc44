/** The HTTP server of the systems over tables, and its client. The entry `cellardb/server`. */
export { CellarServer } from './server.js'
export type { ServerOptions, TlsOptions } from './options.js'
export type { ServerContext, ServerSystem, SystemHealth } from '../http/server-system.js'
export type { MemoryLease, RequestMemory } from '../http/request-memory.js'
export { ServerErrorCode } from '../http/errors.js'
export type { JsonSchema } from '../api/index.js'
export type { Operation } from '../http/operations.js'
export { messagingRoutes, type MessagingRoutesOptions } from '../systems/messaging/http/routes.js'
export { engineMetrics } from './engine-metrics.js'
export { consolePage, type ConsoleDatabase, type ConsoleOptions } from './console.js'
export { databaseRoutes, type DirectoryVerbs, type ServedDatabase } from './database/routes.js'
export type { SeenDatabase } from './database/views.js'
export { MessagingClient, type MessagingClientOptions } from '../systems/messaging/http/client.js'
export { transactionRoutes, type TransactionsSource } from '../systems/transactions/http/routes.js'
export {
  TransactionClient,
  type TransactionClientOptions,
} from '../systems/transactions/http/client.js'
export {
  repositoryRoutes,
  type RepositoryRoutesOptions,
} from '../systems/repository/http/routes.js'
export type { RepositorySource } from '../systems/repository/http/call.js'
export type { AccessRule, FieldPermission, Principal } from '../http/access.js'
export type { IndexesSource } from '../systems/repository/http/indexes.js'
export type { CellarConfiguration, ConfigurationExport } from './configuration.js'
