module bonded.example/kit/examples

go 1.19
