/** Faults of messaging and of the server that all systems share. */
import type { PlantedFault } from './planted-fault.js'

const cache = ['test/unit/systems/messaging/cache.test.ts']
const hardening = ['test/unit/server/hardening.test.ts']
const producers = ['test/unit/systems/messaging/producers.test.ts']

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a rollback begins with the time of the write pointer',
    file: 'src/systems/messaging/service.ts',
    find: 'startOf(pointer) - pointerLeadMillisecondsMax',
    replace: 'startOf(pointer)',
    tests: ['test/unit/systems/messaging/history.test.ts'],
  },
  {
    name: 'a producer that has left memory publishes beside its new state',
    file: 'src/systems/messaging/live/producers.ts',
    find: 'if (this.#held.get(id) !== producer) continue',
    replace: '',
    tests: ['test/unit/systems/messaging/producers.test.ts'],
  },
  {
    name: 'the cache serves transactions that are too old for it',
    file: 'src/systems/messaging/fetch/message-reader.ts',
    find: 'place.publishTimestamp >= this.#cachedSince',
    replace: 'place.publishTimestamp >= -this.#cachedSince',
    tests: cache,
    foundBy: 'messaging-cache',
  },
  {
    name: 'the cache survives a new generation of its topic',
    file: 'src/systems/messaging/live/topic-state.ts',
    find: '    this.cache.clear()\n    this.producers.clear()',
    replace: '    this.producers.clear()',
    tests: cache,
    foundBy: 'messaging-cache',
  },
  {
    name: 'a frame of an ended generation becomes readable in the next one',
    file: 'src/systems/messaging/service.ts',
    find: 'if (topic.generation !== generation) return',
    replace: 'if (topic.generation < -generation) return',
    tests: cache,
    foundBy: 'messaging-cache',
  },
  {
    name: 'a commit of unknown outcome counts as one that was not written',
    file: 'src/systems/messaging/publish/publishing.ts',
    find: 'throw commit.isHanded ? error : notCarried(error)',
    replace: 'throw notCarried(error)',
    tests: ['test/unit/systems/messaging/commit-refusals.test.ts'],
  },
  {
    name: 'a request overtakes one of its producer that was refused',
    file: 'src/systems/messaging/live/producers.ts',
    find: 'if (sequence >= pending.sequence || own === batch) continue',
    replace: 'if (sequence >= 0 || own === batch) continue',
    tests: producers,
  },
  {
    name: 'a refused request of a producer is answered for ever',
    file: 'src/systems/messaging/live/producers.ts',
    find: 'pending.answer.catch(() => this.#pending.delete(sequence))',
    replace: 'pending.answer.catch(() => undefined)',
    tests: producers,
  },
  {
    name: 'write pointers count that no manager has handed out',
    file: 'src/systems/messaging/publish/requests.ts',
    find: ': pointer <= transactions.writePointer',
    replace: ': pointer >= -transactions.writePointer',
    tests: ['test/unit/systems/messaging/requests.test.ts'],
  },
  {
    name: 'pages of other servers may write',
    file: 'src/server/origin-guard.ts',
    find: 'return from === host || this.#hosts',
    replace: 'return from !== undefined || this.#hosts',
    tests: hardening,
  },
  {
    name: 'the server answers under any name',
    file: 'src/server/origin-guard.ts',
    find: "return isIP(name.replace(/^\\[|\\]$/g, '')) !== 0",
    replace: "return isIP(name.replace(/^\\[|\\]$/g, '')) >= 0",
    tests: hardening,
  },
  {
    name: 'decompressed bodies do not count as memory',
    file: 'src/server/request-bodies.ts',
    find: 'bytesPerByte * bytes + besides',
    replace: 'besides',
    tests: hardening,
  },
  {
    name: 'a body that drips is waited for',
    file: 'src/server/request-clocks.ts',
    find: 'else cutOff(request, reply)',
    replace: 'else if (left > 0) cutOff(request, reply)',
    tests: hardening,
  },
  {
    name: 'a server that ends cuts off what is under way',
    file: 'src/server/closing.ts',
    find: '    }, this.#milliseconds)',
    replace: '    }, this.#milliseconds / 1e6)',
    tests: hardening,
  },
]
