#!/bin/sh
# Makes the goldens: LAME 3.100, mpg123 1.31.2, SoX 14.4.2. The .f32 files are what mpg123
# decodes, 32-bit little-endian floats; that of ismixed24 is ffmpeg 5.1.9's.
set -e
cd "$(dirname "$0")"
sox -R -n -r 44100 -b 16 -c 2 /tmp/golden44.wav synth 0.12 pluck 220 pluck 330 gain -6
sox -R -n -r 24000 -b 16 -c 1 /tmp/golden24.wav synth 0.15 pluck 180 gain -6
sox -R -n -r 8000 -b 16 -c 2 /tmp/golden8.wav synth 0.2 pluck 150 pluck 151 gain -6
lame --quiet -b 128 -m j /tmp/golden44.wav joint44.mp3
lame --quiet --resample 24 -b 48 -p /tmp/golden24.wav crc24.mp3
lame --quiet --resample 8 -b 24 -m f /tmp/golden8.wav ms8.mp3
go run intensity.go 1 >is48.mp3
go run intensity.go 2 >is24.mp3
go run intensity.go mixed >ismixed24.mp3
ffmpeg -v error -y -i ismixed24.mp3 -f f32le ismixed24.f32
for f in joint44 crc24 ms8 is48 is24; do mpg123 -q -e f32 -s $f.mp3 >$f.f32; done
