// Sends 100 messages, one after another, through one transporter.
const nodemailer = require('nodemailer');

async function main() {
  const transporter = nodemailer.createTransport({
    host: '127.0.0.1',
    port: Number(process.env.PORT),
    secure: false,
    ignoreTLS: true,
    pool: process.argv[2] === 'pool',
    maxConnections: 1,
  });
  for (let n = 0; n < 100; n++) {
    await transporter.sendMail({
      from: 'shop@pair.test',
      to: `customer${n}@pair.test`,
      subject: `Order ${n}`,
      text: `Your order ${n} is on its way.`,
    });
  }
  transporter.close();
}

main();
