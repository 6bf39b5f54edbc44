/** Decimal numbers as text: exact, and with their given scale (1.0 is not 1.00). */

const pattern = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/
const digitsMax = 1000

/** Whether a text is a decimal: digits, an optional fraction, no exponent, no leading zeros. */
export function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && value.length <= digitsMax && pattern.test(value)
}

interface Parts {
  readonly isNegative: boolean
  readonly whole: string
  readonly fraction: string
}

function partsOf(text: string): Parts {
  const [whole, fraction = ''] = text.replace('-', '').split('.')
  const significant = fraction.replace(/0+$/, '')
  const isZero = whole === '0' && significant === ''
  return { isNegative: text.startsWith('-') && !isZero, whole, fraction: significant }
}

/**
 * Bytes in the order of the numbers, equal for 1.0 and 1.00: sign, number of digits before the
 * point, digits. For negative numbers all bytes after the sign are inverted.
 */
export function decimalOrder(text: string): Buffer {
  const { isNegative, whole, fraction } = partsOf(text)
  const digits = Buffer.from(`${whole}${fraction}`, 'latin1')
  const bytes = Buffer.alloc(digits.length + 4)
  bytes[0] = 1
  bytes.writeUInt16BE(whole.length, 1)
  digits.copy(bytes, 3)
  if (isNegative) {
    bytes[0] = 0
    for (let i = 1; i < bytes.length; i++) bytes[i] = 0xff - bytes[i]
  }
  return bytes
}
