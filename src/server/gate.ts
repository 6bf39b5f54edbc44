/** Authentication: admits requests with a valid token to the routes open to its principal. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { CellarError, invalidArgument } from '../api/index.js'
import { admit, type Principal } from '../http/access.js'
import { forbidden, ServerErrorCode } from '../http/errors.js'
import type { ServerSystem } from '../http/server-system.js'

const everybody: Principal = { name: '', token: '', administrator: true }

/**
 * The reason why a request is refused; undefined for an admitted one. `ERR_UNAUTHORIZED`,
 * `ERR_FORBIDDEN`.
 */
export type Gate = (request: FastifyRequest) => Error | undefined

/**
 * The gate of a server with these systems. The options are those of the server, already checked.
 * `ERR_INVALID_ARGUMENT` for a token of two principals.
 */
export function makeGate(
  { token, principals }: { token?: string | undefined; principals: readonly Principal[] },
  systems: readonly ServerSystem[],
): Gate {
  const all = token === undefined ? principals : [...principals, { ...everybody, token }]
  if (new Set(all.map((each) => each.token)).size < all.length) {
    throw invalidArgument('two principals have one token')
  }
  const digests = all.map((each) => [digest(`Bearer ${each.token}`), each] as const)
  const publicPaths = new Set(['/health', ...systems.flatMap((each) => each.publicPaths ?? [])])
  const sharedPrefixes = systems.flatMap(({ sharedPrefix }) => sharedPrefix ?? [])
  const find = (authorization: string): Principal | undefined => {
    if (digests.length === 0) return everybody
    const given = digest(authorization)
    return digests.find(([expected]) => timingSafeEqual(given, expected))?.[1]
  }
  return (request) => {
    const route = request.routeOptions.url ?? ''
    if (publicPaths.has(route)) return undefined
    const principal = find(request.headers.authorization ?? '')
    if (principal === undefined) {
      return new CellarError(ServerErrorCode.unauthorized, 'the token is missing or wrong')
    }
    const isShared = sharedPrefixes.some((prefix) => route.startsWith(prefix))
    if (principal.administrator !== true && !isShared) return forbidden('for administrators only')
    admit(request, principal)
    return undefined
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
