import t from 'tap'
import { ErrorCode } from '../../../src/base/errors.js'
import {
  boolean,
  callback,
  checked,
  choice,
  declareOptions,
  described,
  implementation,
  integer,
  list,
  number,
  required,
  text,
  type OptionsOf,
} from '../../../src/base/options.js'

const sampleOptions = declareOptions('a sample', {
  /** Default 2. */
  threads: integer({ min: 1, max: 8, default: 2 }),
  rate: number({ min: 0.5, default: Infinity }),
  isOn: boolean(true),
  name: text('none'),
  kind: choice(['a', 'b'], 'a'),
  clock: implementation<{ now(): number }>(['now']),
  onError: callback<(error: unknown) => void>(),
  names: list(text(undefined)),
  even: checked((value: number, what) => {
    if (value % 2 === 0) return value
    throw new Error(`${what} is odd`)
  }),
})

interface SampleOptions extends OptionsOf<typeof sampleOptions> {}

void t.test('absent and undefined options have their defaults', async (t) => {
  const wanted = {
    threads: 2,
    rate: Infinity,
    isOn: true,
    name: 'none',
    kind: 'a',
    clock: undefined,
    onError: undefined,
    names: [],
    even: undefined,
  }
  t.strictSame(sampleOptions.read({}), wanted)
  t.strictSame(sampleOptions.read({ threads: undefined, names: undefined }), wanted)
})

void t.test('a declaration describes its object in JSON', async (t) => {
  const even = required(checked((value: number) => value))
  const { schema } = declareOptions('a described sample', {
    threads: integer({ min: 1, max: 8, default: 2 }),
    rate: number({ min: 0.5, default: undefined }),
    isOn: boolean(true),
    name: required(text('none')),
    kind: choice(['a', 'b'], 'a'),
    names: list(required(text(undefined))),
    even: described(even, { type: 'integer', multipleOf: 2 }),
    anything: callback(),
  })
  t.strictSame(JSON.parse(JSON.stringify(schema)), {
    type: 'object',
    properties: {
      threads: { type: 'integer', minimum: 1, maximum: 8, default: 2 },
      rate: { type: 'number', minimum: 0.5 },
      isOn: { type: 'boolean', default: true },
      name: { type: 'string' },
      kind: { type: 'string', enum: ['a', 'b'], default: 'a' },
      names: { type: 'array', items: { type: 'string' } },
      even: { type: 'integer', multipleOf: 2 },
      anything: {},
    },
    required: ['name', 'even'],
    additionalProperties: false,
  })
})

void t.test('given options are copied', async (t) => {
  const names = ['x']
  const given: SampleOptions = {
    threads: 8,
    isOn: false,
    kind: 'b',
    names,
    even: 4,
  }
  const read = sampleOptions.read(given)
  names.push('y')
  t.match(read, { threads: 8, isOn: false, kind: 'b', even: 4 })
  t.strictSame(read.names, ['x'])
})

void t.test('wrong values and names are refused with the name of the option', async (t) => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{ threads: 0 }, /option threads must be an integer from 1 to 8, got 0/],
    [{ threads: 2.5 }, /option threads/],
    [{ threads: 9 }, /option threads/],
    [{ rate: NaN }, /option rate must be a number >= 0.5, got NaN/],
    [{ isOn: 'yes' }, /option isOn must be true or false/],
    [{ name: 5 }, /option name must be a string/],
    [{ kind: 'c' }, /option kind must be one of a, b/],
    [{ clock: {} }, /option clock lacks the method now/],
    [{ onError: 5 }, /option onError must be a function/],
    [{ names: 'x' }, /option names must be an array/],
    [{ names: ['x', 5] }, /option names\[1\] must be a string/],
    [{ even: 3 }, /option even is odd/],
    [{ thread: 2 }, /did you mean 'threads'/],
    [null, /a sample must be an object/],
  ]
  for (const [options, message] of wrong) {
    t.throws(() => sampleOptions.read(options as SampleOptions), {
      code: ErrorCode.invalidArgument,
      message,
    })
  }
})

void t.test('an option without a default must be given', async (t) => {
  const options = declareOptions('a copy', { from: required(text(undefined)), to: text('here') })
  t.strictSame(options.read({ from: 'there' }), { from: 'there', to: 'here' })
  // @ts-expect-error The compiler refuses its absence, too.
  const read = (): unknown => options.read({})
  t.throws(read, { code: ErrorCode.invalidArgument, message: /needs the option from/ })
})
