/** The systems of a server: their check and their health. */
import { checkArray, checkFunction, checkMethods, checkText } from '../api/index.js'
import type { ServerSystem } from '../http/server-system.js'

const texts = ['mediaTypes', 'publicPaths'] as const
const methods = ['metrics', 'health', 'close'] as const

/** Checks a system of a caller. `ERR_INVALID_ARGUMENT`. */
export function checkSystem(system: ServerSystem): ServerSystem {
  checkMethods(system, 'a system', ['register'])
  checkText(system.name, 'the name of a system')
  if (system.sharedPrefix !== undefined) checkText(system.sharedPrefix, 'sharedPrefix')
  for (const each of texts) {
    for (const text of checkArray(system[each] ?? [], each)) checkText(text, `each of ${each}`)
  }
  for (const method of methods) checkFunction<unknown>(Reflect.get(system, method), method)
  return system
}

/** From the best to the worst. */
const statuses = ['ok', 'degraded', 'standby', 'failed'] as const

/** The answer of `/health`: the worst status, and the status of each system. */
export function healthOf(systems: readonly ServerSystem[]): {
  readonly isServing: boolean
  readonly shown: object
} {
  const each = systems.map((system) => [system.name, system.health?.().status ?? 'ok'] as const)
  const worst = Math.max(0, ...each.map(([, status]) => statuses.indexOf(status)))
  const status = statuses[worst]
  const isServing = status === 'ok' || status === 'degraded'
  return { isServing, shown: { status, systems: Object.fromEntries(each) } }
}
