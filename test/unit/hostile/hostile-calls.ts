/**
 * Calls everything that an entry of the package exports with values that no caller should give:
 * functions, constructors, static methods, and the methods of live objects.
 */
import { EventEmitter } from 'node:events'
import { inspect, types } from 'node:util'
import {
  AbstractIterator,
  AbstractKeyIterator,
  AbstractLevel,
  AbstractValueIterator,
} from 'abstract-level'
import { seededRandom, type Random } from '../../../src/base/random.js'
import { hostileValues } from '../table/arguments/hostile-values.js'

/** Live objects of an entry, and what ends them. */
export interface LiveObjects {
  readonly objects: Readonly<Record<string, object>>
  close(): Promise<unknown>
}

/** An entry of the package. */
export interface HostileEntry {
  readonly exports: object
  /** Makes live objects; called again for each of them. */
  readonly open?: () => Promise<LiveObjects>
  /** Names that are not called, such as 'Class.method', each with the reason. */
  readonly except?: Readonly<Record<string, string>>
  /** Arguments that calls of the entry may well have, beside those that all entries share. */
  readonly plausible?: readonly unknown[]
}

/** A call that failed in another way than the package promises. */
export interface Complaint {
  readonly callee: string
  readonly error: unknown
}

type Callee = (...values: unknown[]) => unknown

/** Methods that end their object come last. */
const ending = /^(close|destroy|drop|stop|end|abandon|Symbol\((async)?[dD]ispose\))/
/** Milliseconds after which a call that waits is left alone. */
const patience = 15

/** Runs the calls; returns how many there were, and the complaints by callee. */
export class HostileCalls {
  calls = 0
  callees = 0
  readonly complaints = new Map<string, Complaint>()
  readonly #random: Random
  readonly #isPromised: (error: unknown) => boolean
  #plausible = plausible

  constructor(seed: number, isPromised: (error: unknown) => boolean) {
    this.#random = seededRandom(seed)
    this.#isPromised = isPromised
  }

  /** Calls the exports of an entry, and the methods of its live objects. */
  async run({ exports, open, except = {}, plausible: own = [] }: HostileEntry): Promise<void> {
    this.#plausible = [...plausible, ...own.map((value) => () => value)]
    for (const [name, value] of Object.entries(exports) as [string, unknown][]) {
      if (typeof value !== 'function' || name in except) continue
      if (isClass(value)) {
        // What is said of an error is up to those who make it.
        if ((value as { readonly prototype: unknown }).prototype instanceof Error) continue
        await this.#each(`new ${name}`, except, (...values) => {
          Reflect.construct(value, values)
        })
        await this.#methods(name, value, except)
      } else await this.#each(name, except, (...values) => (value as Callee)(...values))
    }
    if (open === undefined) return
    const first = await open()
    const names = Object.keys(first.objects)
    await first.close()
    for (const name of names) {
      const live = await open()
      await this.#methods(name, live.objects[name], except)
      await Promise.race([Promise.allSettled([live.close()]), pause(1000)])
    }
  }

  /** Calls the methods of an object, inherited ones too. */
  async #methods(
    of: string,
    target: object,
    except: Readonly<Record<string, string>>,
  ): Promise<void> {
    const names = methodNames(target)
    names.sort((a, b) => Number(ending.test(String(a))) - Number(ending.test(String(b))))
    for (const name of names) {
      await this.#each(`${of}.${String(name)}`, except, (...values) => {
        const method = Reflect.get(target, name) as Callee
        return method.apply(target, values)
      })
    }
  }

  async #each(
    callee: string,
    except: Readonly<Record<string, string>>,
    call: Callee,
  ): Promise<void> {
    if (callee in except) return
    this.callees++
    for (const values of this.#arguments()) {
      this.calls++
      try {
        await this.#settled(callee, call(...values))
      } catch (error) {
        this.#judge(callee, error)
      }
      if (this.complaints.has(callee)) return
    }
  }

  /** Waits a moment for promises and for the first step of iterators. */
  async #settled(callee: string, made: unknown): Promise<void> {
    // A returned function may be the end of a tracing or subscription that the call began.
    if (typeof made === 'function' && !types.isProxy(made) && !isClass(made)) {
      return this.#settled(callee, (made as Callee)())
    }
    if (!types.isPromise(made)) {
      if (!types.isProxy(made) && made instanceof Object && Symbol.asyncIterator in made) {
        const steps = (made as AsyncIterable<unknown>)[Symbol.asyncIterator]()
        await this.#settled(callee, steps.next())
        await this.#settled(callee, steps.return?.())
      }
      return
    }
    const settled = made.then(undefined, (error: unknown) => this.#judge(callee, error))
    await Promise.race([settled, pause(patience)])
  }

  #judge(callee: string, error: unknown): void {
    if (this.complaints.has(callee) || this.#isPromised(error)) return
    this.complaints.set(callee, { callee, error })
  }

  /** Lists of arguments: each value alone and in every place, and random mixtures. */
  *#arguments(): Generator<unknown[]> {
    yield []
    for (const { make } of hostileValues) {
      yield [make()]
      yield [make(), make(), make(), make()]
      yield Array.from({ length: 1 + this.#below(4) }, () => this.#any())
    }
  }

  #any(): unknown {
    if (this.#below(3) > 0) return hostileValues[this.#below(hostileValues.length)].make()
    return this.#plausible[this.#below(this.#plausible.length)]()
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }
}

const plausible: readonly (() => unknown)[] = [
  () => 't',
  () => 'path',
  () => 'f:q',
  () => 5,
  () => Buffer.from('bytes'),
  () => ({}),
  () => [{}],
  () => ['t'],
  () => ({ row: 'r' }),
  () => ({ row: null, cells: null, columns: [null] }),
]

function isClass(value: object): boolean {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}

/**
 * Not called: what the language and Node call by themselves, and the steps by which a loop ends an
 * iterator.
 */
const notCalled = new Set<string | symbol>(['constructor', 'return', 'throw', inspect.custom])

/** Names with an underscore are for abstract-level, which calls them with what it has checked. */
function isNotCalled(name: string | symbol): boolean {
  return notCalled.has(name) || (typeof name === 'string' && name.startsWith('_'))
}

/** Names of the functions of an object or class, apart from those of the language. */
function methodNames(target: object): (string | symbol)[] {
  const names = new Set<string | symbol>()
  let holder: object | null = target
  while (holder !== null && !builtIn.has(holder)) {
    for (const name of Reflect.ownKeys(holder)) {
      const found = Reflect.getOwnPropertyDescriptor(holder, name)
      if (typeof found?.value !== 'function' || isNotCalled(name)) continue
      if (!isClass(found.value as object)) names.add(name)
    }
    holder = Reflect.getPrototypeOf(holder)
  }
  return [...names]
}

const builtIn = new Set<object>([
  Object.prototype,
  Function.prototype,
  Error.prototype,
  Array.prototype,
  Map.prototype,
  Set.prototype,
  Uint8Array.prototype,
  Error,
  EventEmitter,
  EventEmitter.prototype,
  ...[AbstractLevel, AbstractIterator, AbstractKeyIterator, AbstractValueIterator].flatMap(
    (each) => [each, each.prototype as object],
  ),
])

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
