/** The HTTP server of the systems over tables, and its client. The entry `cellardb/server`. */
export { CellarServer, type ServerOptions, type ServerSystem } from './server.js'
export { messagingRoutes, type MessagingRoutesOptions } from './messaging-routes.js'
export { MessagingClient, type MessagingClientOptions } from './client.js'
export { repositoryRoutes, type RepositoryRoutesOptions } from './repository-routes.js'
export type { RepositorySource } from './repository-call.js'
export type { AccessRule, FieldPermission, Principal } from './access.js'
export type { IndexesSource } from './repository-indexes.js'
