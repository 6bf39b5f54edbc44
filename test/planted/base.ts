import type { PlantedFault } from './planted-fault.js'

/** Faults in byte strings and numbers, the foundation of every order. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a byte string and its prefix are equal',
    file: 'src/base/bytes.ts',
    find: 'return aLength - bLength',
    replace: 'return 0',
    tests: ['test/unit/base/bytes.test.ts'],
  },
  {
    name: 'the end of a range of a prefix keeps trailing 0xFF bytes',
    file: 'src/base/bytes.ts',
    find: 'prefix[end - 1] === 0xff',
    replace: 'prefix[end - 1] === 0x1ff',
    tests: ['test/unit/base/bytes.test.ts'],
  },
]
